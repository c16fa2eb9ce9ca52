/* A small sound profile and the ways to break it. */
#pragma once

/* Three layers in a row, ids 3, 5 and 7; the middle one also runs on two devices. */
#define SOUND_PROFILE                                                                              \
    "{\n"                                                                                          \
    "  \"maxDevices\": 4, \"maxMemoryPerDevice\": 1e9, \"bandwidth\": 1e9, \"mbsInBatch\": 8,\n"   \
    "  \"nodes\": [\n"                                                                             \
    "    {\"id\": 3, \"name\": \"first\", \"TMPCs\": {\"1\": [\n"                                  \
    "      {\"id\": \"plain\", \"timePerSample\": 0.25, \"parameterSize\": 10,\n"                  \
    "       \"memoryUsageA\": 20, \"memoryUsageB\": 30,\n"                                         \
    "       \"syncTimeFw\": {}, \"syncTimeBw\": {\"5\": 40}}]}},\n"                                \
    "    {\"id\": 5, \"name\": \"second\", \"TMPCs\": {\"1\": [\n"                                 \
    "      {\"id\": \"light\", \"timePerSample\": 0.5, \"parameterSize\": 11,\n"                   \
    "       \"memoryUsageA\": 21, \"memoryUsageB\": 31,\n"                                         \
    "       \"syncTimeFw\": {\"3\": 41}, \"syncTimeBw\": {\"7\": 42}}],\n"                         \
    "     \"2\": [\n"                                                                              \
    "      {\"id\": \"wide\", \"timePerSample\": 0.375, \"parameterSize\": 12,\n"                  \
    "       \"memoryUsageA\": 22, \"memoryUsageB\": 32,\n"                                         \
    "       \"syncTimeFw\": {\"3\": 43}, \"syncTimeBw\": {\"7\": 44}},\n"                          \
    "      {\"id\": \"recompute\", \"timePerSample\": 0.4375, \"parameterSize\": 12,\n"            \
    "       \"memoryUsageA\": 2, \"memoryUsageB\": 52,\n"                                          \
    "       \"syncTimeFw\": {\"3\": 43}, \"syncTimeBw\": {\"7\": 44}}]}},\n"                       \
    "    {\"id\": 7, \"name\": \"third\", \"TMPCs\": {\"1\": [\n"                                  \
    "      {\"id\": \"plain\", \"timePerSample\": 0.125, \"parameterSize\": 13,\n"                 \
    "       \"memoryUsageA\": 23, \"memoryUsageB\": 33,\n"                                         \
    "       \"syncTimeFw\": {\"5\": 45}, \"syncTimeBw\": {}}]}}\n"                                 \
    "  ],\n"                                                                                       \
    "  \"edges\": [\n"                                                                             \
    "    {\"sourceId\": 3, \"destId\": 5, \"communicationCost\": 100},\n"                          \
    "    {\"sourceId\": 5, \"destId\": 7, \"communicationCost\": 200}\n"                           \
    "  ]\n"                                                                                        \
    "}\n"
