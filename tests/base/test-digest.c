#include <string.h>

#include "sim/base/digest.h"
#include "tests/harness/harness.h"

/* FIPS 180-2, appendix B, in one piece and byte by byte. */
START_TEST(published_vectors)
{
    static const struct {
        const char *text, *sha256;
    } vectors[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(vectors); i++) {
        const char *text = vectors[i].text, *path = ps_test_file("vector", text);
        g_autoptr(PsDigest) whole = ps_digest_new();
        g_autoptr(PsDigest) bytes = ps_digest_new();
        ps_digest_add(whole, text, strlen(text));
        for (const char *c = text; *c != '\0'; c++) {
            ps_digest_add(bytes, c, 1);
        }
        g_autofree char *of_whole = ps_digest_finish(whole), *of_bytes = ps_digest_finish(bytes);
        g_autofree char *of_file = ps_digest_file(path);
        ck_assert_str_eq(of_whole, vectors[i].sha256);
        ck_assert_str_eq(of_bytes, vectors[i].sha256);
        ck_assert_str_eq(of_file, vectors[i].sha256);
    }
}
END_TEST

/* The third vector of FIPS 180-2: a million times "a", in blocks that come faster than they are
 * hashed. */
START_TEST(many_blocks)
{
    g_autofree char *block = g_strnfill(1000, 'a');
    g_autoptr(PsDigest) digest = ps_digest_new();
    for (guint i = 0; i < 1000; i++) {
        ps_digest_add(digest, block, 1000);
    }
    g_autofree char *sha256 = ps_digest_finish(digest);
    ck_assert_str_eq(sha256, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

START_TEST(unfinished_and_unreadable)
{
    g_autoptr(PsDigest) unfinished = ps_digest_new();
    ps_digest_add(unfinished, "abc", 3);
    g_autofree char *nowhere = g_build_filename(ps_test_folder(), "nowhere", NULL);
    ck_assert_ptr_null(ps_digest_file(nowhere));
    ck_assert_ptr_null(ps_digest_file(ps_test_folder()));
}
END_TEST

PS_TEST_MAIN("digest", published_vectors, many_blocks, unfinished_and_unreadable)
