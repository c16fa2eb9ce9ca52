#include "sim/base/digest.h"

#include <stdio.h>

#define MOST_WAITING 64 /* blocks */
#define READ_BYTES ((gsize)1 << 16)

struct PsDigest {
    GThread *thread; /* NULL once it has finished */
    GChecksum *checksum;
    GMutex mutex;
    GCond changed;  /* what follows */
    GQueue waiting; /* GBytes */
    gboolean closed;
};

/* The next block, or NULL where none comes any more. */
static GBytes *take_block(PsDigest *digest)
{
    g_mutex_lock(&digest->mutex);
    while (digest->waiting.length == 0 && !digest->closed) {
        g_cond_wait(&digest->changed, &digest->mutex);
    }
    GBytes *block = g_queue_pop_head(&digest->waiting);
    g_cond_broadcast(&digest->changed);
    g_mutex_unlock(&digest->mutex);
    return block;
}

static gpointer hash_blocks(gpointer data)
{
    PsDigest *digest = data;
    GBytes *block;
    while ((block = take_block(digest)) != NULL) {
        gsize length;
        gconstpointer bytes = g_bytes_get_data(block, &length);
        g_checksum_update(digest->checksum, bytes, (gssize)length);
        g_bytes_unref(block);
    }
    return NULL;
}

PsDigest *ps_digest_new(void)
{
    PsDigest *digest = g_new0(PsDigest, 1);
    digest->checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_mutex_init(&digest->mutex);
    g_cond_init(&digest->changed);
    g_queue_init(&digest->waiting);
    digest->thread = g_thread_new("digest", hash_blocks, digest);
    return digest;
}

void ps_digest_add(PsDigest *digest, const char *data, gsize length)
{
    GBytes *block = g_bytes_new(data, length);
    g_mutex_lock(&digest->mutex);
    while (digest->waiting.length >= MOST_WAITING) {
        g_cond_wait(&digest->changed, &digest->mutex);
    }
    g_queue_push_tail(&digest->waiting, block);
    g_cond_broadcast(&digest->changed);
    g_mutex_unlock(&digest->mutex);
}

static void join_thread(PsDigest *digest)
{
    if (digest->thread != NULL) {
        g_mutex_lock(&digest->mutex);
        digest->closed = TRUE;
        g_cond_broadcast(&digest->changed);
        g_mutex_unlock(&digest->mutex);
        g_thread_join(g_steal_pointer(&digest->thread));
    }
}

char *ps_digest_finish(PsDigest *digest)
{
    join_thread(digest);
    return g_strdup(g_checksum_get_string(digest->checksum));
}

void ps_digest_free(PsDigest *digest)
{
    if (digest != NULL) {
        join_thread(digest);
        g_checksum_free(digest->checksum);
        g_mutex_clear(&digest->mutex);
        g_cond_clear(&digest->changed);
        g_free(digest);
    }
}

char *ps_digest_file(const char *path)
{
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        return NULL;
    }
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree guchar *block = g_malloc(READ_BYTES);
    gsize got;
    while ((got = fread(block, 1, READ_BYTES, stream)) > 0) {
        g_checksum_update(checksum, block, (gssize)got);
    }
    gboolean failed = ferror(stream) != 0;
    fclose(stream);
    return failed ? NULL : g_strdup(g_checksum_get_string(checksum));
}
