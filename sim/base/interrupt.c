#include "sim/base/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <glib/gstdio.h>
#include "sim/base/empty-folders.h"

/* The state below is the program's, because a signal is: a handler has no other way to it. All of
 * it can be read at any moment: paths are copies in place, and their states say when they are
 * whole. */
#define MOST_PLACES 256
#define UNLISTED MOST_PLACES /* handle of what found no place in the table */
#define MOST_WAITS 1000      /* milliseconds */
#define ONE_PRESS_MS 300

typedef enum { FREE, CHANGING, LISTED } PlaceState;

/* What a signal removes. */
static struct {
    atomic_int state; /* PlaceState */
    gboolean folders;
    gsize n_stays; /* of a path of folders: see empty-folders.h */
    char path[PATH_MAX];
} places[MOST_PLACES];
static atomic_int holds;
static atomic_int requested;      /* the number of the signal, 0 for none */
static atomic_llong requested_ms; /* when */
static atomic_int making;         /* threads between making something and listing it */
static atomic_int dying;

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static void remove_listed(gboolean folders)
{
    for (guint i = 0; i < MOST_PLACES; i++) {
        int listed = LISTED;
        if (!atomic_compare_exchange_strong(&places[i].state, &listed, CHANGING)) {
            continue;
        }
        if (places[i].folders != folders) {
            atomic_store(&places[i].state, LISTED);
        } else if (folders) {
            ps_remove_empty_folders(places[i].path, places[i].n_stays);
        } else {
            unlink(places[i].path);
        }
    }
}

/* Calls only what POSIX allows in handlers. Other threads run on: those that are making a file list
 * it first, and make no further ones; none writes the path of a file that is being removed. */
static void die(int number)
{
    if (atomic_exchange(&dying, 1) == 1) {
        return; /* another thread is about it */
    }
    for (guint i = 0; i < MOST_WAITS && atomic_load(&making) > 0; i++) {
        poll(NULL, 0, 1);
    }
    remove_listed(FALSE);
    remove_listed(TRUE); /* once there is nothing in them */
    signal(number, SIG_DFL);
    raise(number); /* at the end of the handler */
}

static long long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Programs that pass a signal on, such as timeout, send it to the process and to its group: what
 * comes twice at one moment is one wish. A terminal that closes sends SIGHUP, its shell another one
 * when it comes to it: that is never a second wish. */
static void handle(int number)
{
    int saved = errno;
    if (atomic_load(&holds) == 0) {
        die(number);
    } else if (atomic_load(&requested) == 0) {
        atomic_store(&requested_ms, now_ms()); /* first, for other threads */
        atomic_store(&requested, number);
    } else if (number != SIGHUP && now_ms() - atomic_load(&requested_ms) > ONE_PRESS_MS) {
        die(number);
    }
    errno = saved;
}

static void fill_set(sigset_t *set)
{
    sigemptyset(set);
    for (guint i = 0; i < G_N_ELEMENTS(signals); i++) {
        sigaddset(set, signals[i]);
    }
}

void ps_interrupt_install(void)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    fill_set(&action.sa_mask);
    for (guint i = 0; i < G_N_ELEMENTS(signals); i++) {
        struct sigaction old;
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
            sigaction(signals[i], &action, NULL);
        }
    }
}

void ps_interrupt_hold(void)
{
    if (atomic_fetch_add(&holds, 1) == 0) {
        atomic_store(&requested, 0);
    }
}

void ps_interrupt_release(gboolean answered)
{
    gboolean last = atomic_fetch_sub(&holds, 1) == 1;
    int number = atomic_load(&requested);
    if (last && number != 0 && !answered) {
        die(number);
    }
}

gboolean ps_interrupt_requested(void)
{
    return atomic_load(&requested) != 0;
}

/* Another thread handles a signal. */
G_GNUC_NORETURN static void wait_for_death(void)
{
    for (;;) {
        pause();
    }
}

static guint list(const char *path, gboolean folders, gsize n_stays)
{
    for (guint i = 0; strlen(path) < PATH_MAX && i < MOST_PLACES; i++) {
        int empty = FREE;
        if (atomic_compare_exchange_strong(&places[i].state, &empty, CHANGING)) {
            strcpy(places[i].path, path);
            places[i].folders = folders;
            places[i].n_stays = n_stays;
            atomic_store(&places[i].state, LISTED);
            return i;
        }
    }
    return UNLISTED;
}

/* From here to end_making this thread takes no signal, and a signal that another one takes waits.
 * Does not return where one is about to end the program. */
static void begin_making(sigset_t *before)
{
    sigset_t blocked;
    fill_set(&blocked);
    pthread_sigmask(SIG_BLOCK, &blocked, before);
    atomic_fetch_add(&making, 1);
    if (atomic_load(&dying) == 1) {
        atomic_fetch_sub(&making, 1);
        pthread_sigmask(SIG_SETMASK, before, NULL);
        wait_for_death();
    }
}

/* Keeps errno. */
static void end_making(const sigset_t *before)
{
    int code = errno;
    atomic_fetch_sub(&making, 1);
    pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = code;
}

int ps_interrupt_make_temporary(char *text, int mode, guint *handle)
{
    sigset_t before;
    begin_making(&before);
    int fd = g_mkstemp_full(text, O_WRONLY | O_CLOEXEC, mode);
    *handle = fd >= 0 ? list(text, FALSE, 0) : UNLISTED;
    end_making(&before);
    return fd;
}

gboolean ps_interrupt_make_folders(const char *path, gsize n_stays, guint *handle)
{
    sigset_t before;
    begin_making(&before);
    gboolean made = g_mkdir_with_parents(path, 0777) == 0;
    gboolean any = strlen(path) > n_stays;
    *handle = any ? list(path, TRUE, n_stays) : UNLISTED;
    end_making(&before);
    return made;
}

void ps_interrupt_forget(guint handle)
{
    int listed = LISTED;
    if (handle == UNLISTED ||
        atomic_compare_exchange_strong(&places[handle].state, &listed, FREE)) {
        return;
    }
    wait_for_death(); /* whatever failed is not worth a message any more */
}
