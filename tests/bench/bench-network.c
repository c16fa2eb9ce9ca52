/* Times `pipersim flows`, the whole process: random flows among 64 devices on a tree of two levels
 * (100 GB/s per device, 25 GB/s per node of eight), started within a second. SimGrid 3.32 takes
 * 8.7 s for 5,000 of them. Least of several runs. */
#include <stdio.h>
#include <stdlib.h>

#include <glib.h>

#define RUNS 5
#define SIMGRID_FLOWS 5000
#define SIMGRID_S 8.7

static void write_flows(const char *path, guint n)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    g_autoptr(GString) text = g_string_new("start_s,source,destination,bytes\n");
    for (guint i = 0; i < n; i++) {
        guint source = (guint)g_rand_int_range(rand, 0, 64);
        guint destination = (source + (guint)g_rand_int_range(rand, 1, 64)) % 64;
        g_string_append_printf(text, "%.9f,%u,%u,%d\n", g_rand_double(rand), source, destination,
                               g_rand_int_range(rand, 1000000, 1000000000));
    }
    if (!g_file_set_contents(path, text->str, -1, NULL)) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(1);
    }
}

static double time_once(const char *program, const char *path)
{
    const char *argv[] = {
        program, "flows", "--topology", "node:8 100GB/s cluster:64 25GB/s shared 80GiB",
        path,    "-o",    "/dev/null",  NULL};
    gint64 start_us = g_get_monotonic_time();
    int status;
    if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL, &status,
                      NULL) ||
        status != 0) {
        fprintf(stderr, "cannot run %s\n", program);
        exit(1);
    }
    return (double)(g_get_monotonic_time() - start_us) * 1e-6;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: bench-network PIPERSIM\n");
        return 2;
    }
    g_autofree char *folder = g_dir_make_tmp("pipersim-bench-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "flows.csv", NULL);
    printf("flows on a tree of two levels\n   flows   seconds   SimGrid   ratio\n");
    for (guint n = 1250; n <= 10000; n *= 2) {
        write_flows(path, n);
        double least_s = G_MAXDOUBLE;
        for (guint i = 0; i < RUNS; i++) {
            least_s = MIN(least_s, time_once(argv[1], path));
        }
        printf("%8u  %8.3f", n, least_s);
        if (n == SIMGRID_FLOWS) {
            printf("  %8.1f  %6.0f", SIMGRID_S, SIMGRID_S / least_s);
        }
        printf("\n");
    }
    remove(path);
    remove(folder);
    printf("\n");
    return 0;
}
