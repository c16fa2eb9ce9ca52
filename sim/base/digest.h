/* SHA-256 of bytes as they are written, by a thread of its own: it takes longer than writing them.
 */
#pragma once

#include <glib.h>

typedef struct PsDigest PsDigest;

PsDigest *ps_digest_new(void);
void ps_digest_free(PsDigest *digest);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PsDigest, ps_digest_free)

/* The bytes that come next. Copied; waits where hashing is far behind. */
void ps_digest_add(PsDigest *digest, const char *data, gsize length);

/* No more bytes: their SHA-256 in hex. Caller frees. */
char *ps_digest_finish(PsDigest *digest);

/* Of a file, in this thread; of any size. NULL where it cannot be read. Caller frees. */
char *ps_digest_file(const char *path);
