/* The results of a measurement: as text for people, and as the CSV files that report.pl reads. */
#ifndef TPBENCH_RESULTS_H
#define TPBENCH_RESULTS_H

#include "engine.h"

#include <stdio.h>

struct measured
{
  const struct workload *workload;
  const struct class_stats *stats;      /* one for each class */
  double seconds;                       /* length of the window */
  unsigned series_length;
  uint64_t connections;                 /* that were open all the time */
  double cpu_seconds;                   /* length of the window of the CPU times */
  double client_cpu, busiest_thread_cpu;        /* ns */
  bool server_known;
  double server_cpu;                            /* ns */
  unsigned server_threads;                      /* the most that were seen */
  uint64_t server_resident, server_resident_before;     /* bytes */
  uint64_t server_resident_connected;   /* when all were, before the start */
  bool machine_known;
  double idle_percent, stolen_percent;  /* of the machine's CPU time */
};

void results_text(FILE *to, const struct measured *m);

/*
  Each appends to the file, and writes the names of the columns first if it is
  empty. labels ("name=value") become the first columns. Returns false, with
  errno set, if the file cannot be written.
*/
bool results_csv(const char *path, char **labels, unsigned label_count,
                const struct measured *m);
bool results_histograms(const char *path, const struct measured *m);
bool results_series(const char *path, const struct measured *m);

#endif
