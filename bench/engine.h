/*
  The event threads: connections, their passes through the statements, and
  what is measured of them.

  Each thread owns its connections, its timers and its statistics; nothing of
  these is locked. The threads share only `struct engine`: times that the main
  thread sets (atomics), counters that it reads for its progress line
  (atomics), and the first fatal error (under a mutex).
*/
#ifndef TPBENCH_ENGINE_H
#define TPBENCH_ENGINE_H

#include "histogram.h"
#include "workload.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define MAX_ERROR_CODES 24

struct options
{
  const char *host, *socket, *user, *password, *database;
  unsigned port;
  unsigned threads;
  unsigned connect_parallel;    /* connections being made at a time */
  pid_t stop_at_end;            /* process to stop before we close; or 0 */
  uint64_t seed;
};

struct error_count { unsigned code; uint64_t count; };

/* What one class showed: one for each thread, merged at the end. */
struct class_stats
{
  struct histogram pass, statement;     /* latencies of those that ended */
  struct histogram open_pass, open_statement;   /* ages of those that did not */
  uint64_t passes, statements;          /* that ended within the window */
  uint64_t late;                        /* ended after it, while draining */
  uint64_t unfinished;                  /* never ended */
  uint64_t oldest_unfinished;           /* ns */
  uint64_t bytes;                       /* raw and paced reading only */
  uint64_t closed_by_server;
  uint64_t failed_passes;
  struct error_count errors[MAX_ERROR_CODES];
  /* Per second of the window. */
  uint64_t *series_passes, *series_statements;
  /* Read by the main thread while we run. */
  uint64_t live_passes, live_errors;
};

struct event_thread;

struct engine
{
  const struct options *options;
  struct workload *workload;
  struct sockaddr_storage address;      /* for silent clients */
  socklen_t address_length;
  unsigned thread_count;        /* one more than asked for, if classes are apart */
  struct event_thread *threads;

  /* Set by the main thread, read by all. Nanoseconds of CLOCK_MONOTONIC. */
  int64_t start;                        /* INT64_MAX: still connecting */
  int64_t window_begin, window_end, drain_end;
  unsigned series_length;

  uint64_t connected;                   /* of all classes, before the start */
  int stop;                             /* something fatal, or told to */
  int64_t stopped;                      /* when that was; INT64_MAX: never */
  unsigned threads_measured, threads_done;

  pthread_mutex_t lock;                 /* for message and server_gone */
  char message[512];                    /* of the first fatal error */
  bool server_gone;
};

int64_t now_ns(void);

/* Starts the threads, which begin to connect. */
bool engine_start(struct engine *e, const struct options *options,
                  struct workload *workload);
/* To be called when all are connected: lets them run. */
void engine_run(struct engine *e, int64_t warmup, int64_t window, int64_t drain);
/* Ends the window (if it has not ended) and the drain now. */
void engine_stop(struct engine *e);
/* Waits for the threads, merges their statistics, one element a class. */
struct class_stats *engine_finish(struct engine *e);
/* Whether all threads have ended their drain. */
bool engine_done(struct engine *e);
/* Ends the run because the server is gone. */
void engine_server_gone(struct engine *e, const char *message);
/* CPU time of the event thread that used most since the mark was set, ns. */
void engine_mark_cpu(struct engine *e);
int64_t engine_busiest_cpu(struct engine *e);
/* Sums for the progress line. */
void engine_progress(struct engine *e, unsigned class, uint64_t *passes,
                     uint64_t *errors);

#endif
