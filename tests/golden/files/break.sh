# usage: . break.sh; broken 'sed script' runs `pipersim plan` on good.json edited so.
broken() { sed "$1" good.json >broken.json && pipersim plan broken.json; }
