/* What happens on SIGINT, SIGTERM and SIGHUP (a terminal that is closed): the temporary files of
 * outputs under way are removed, and folders made for them, and the program dies by the signal. Who
 * can end early in good order holds that off for a while. */
#pragma once

#include <glib.h>

/* Installs the handlers, but for a signal that was ignored when the program started (nohup, shells
 * without job control). Called once, by main. */
void ps_interrupt_install(void);

/* From the first hold to the last release the first signal only sets a flag; a second one, unless
 * it comes with the first (within 0.3 s) or is a SIGHUP, kills as above. The first hold clears the
 * flag. The last release kills as above where a signal came that was not answered: answered says
 * that the work has ended early, or ends the program anyway. Any thread may call any of these. */
void ps_interrupt_hold(void);
void ps_interrupt_release(gboolean answered);
gboolean ps_interrupt_requested(void);

/* Makes a temporary file as g_mkstemp_full does (text ends in XXXXXX, which is replaced; returns a
 * descriptor for writing, or -1 with errno) that a signal removes, until it is forgotten. Does not
 * return where a signal is about to end the program. */
int ps_interrupt_make_temporary(char *text, int mode, guint *handle);
/* Makes the folder and those above it that are missing, beyond the first n_stays bytes of its
 * canonical path. FALSE with errno where one cannot be made; *handle is set all the same. A signal
 * removes those that are empty, until they are forgotten. */
gboolean ps_interrupt_make_folders(const char *path, gsize n_stays,
                                   guint *handle) G_GNUC_WARN_UNUSED_RESULT;
/* The file has been renamed or removed, or that has failed; the folders are to stay, or are gone.
 * Does not return where a signal is about to end the program. */
void ps_interrupt_forget(guint handle);
