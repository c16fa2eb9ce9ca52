/* Names that writer and reader of run folders share. Internal to sim/trace. */
#pragma once

#define PS_RUN_SCHEMA "pipersim-run/1"
#define PS_RUN_TRACE "trace.csv"
#define PS_RUN_MEMORY_FILE "memory.csv"
#define PS_RUN_LOADER "loader.csv"
#define PS_RUN_LINKS_FILE "links.csv"
#define PS_RUN_SUMMARY "summary.json"

/* Columns in file order, NULL-terminated. */
extern const char *const ps_trace_columns[];
extern const char *const ps_memory_columns[];
extern const char *const ps_loader_columns[];
extern const char *const ps_links_columns[];

/* Places in ps_trace_columns. */
enum {
    PS_TRACE_LANE,
    PS_TRACE_STAGE,
    PS_TRACE_REPLICA,
    PS_TRACE_RANK,
    PS_TRACE_STREAM,
    PS_TRACE_KIND,
    PS_TRACE_MICROBATCH,
    PS_TRACE_CHUNK,
    PS_TRACE_START,
    PS_TRACE_END,
    PS_TRACE_BYTES,
    PS_TRACE_PEER,
};

/* Places in ps_memory_columns. */
enum {
    PS_MEMORY_FILE_TIME,
    PS_MEMORY_FILE_LANE,
    PS_MEMORY_FILE_STAGE,
    PS_MEMORY_FILE_CATEGORY,
    PS_MEMORY_FILE_BYTES,
};

/* Places in ps_loader_columns. */
enum {
    PS_LOADER_SERVER,
    PS_LOADER_SAMPLE,
    PS_LOADER_START,
    PS_LOADER_END,
};

/* Places in ps_links_columns. */
enum {
    PS_LINKS_LINK,
    PS_LINKS_NAME,
    PS_LINKS_CAPACITY,
    PS_LINKS_BUSY,
    PS_LINKS_MOVED,
    PS_LINKS_UTILISATION,
    PS_LINKS_PEAK_FLOWS,
};
