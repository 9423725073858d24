/* One reading of the server: what its tables and status variables say now. */
#ifndef TPTOP_SAMPLE_H
#define TPTOP_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#define WAITERS_SHOWN 10
#define HOLDERS_SHOWN 10
#define WAITS_SHOWN 8
#define STATEMENT_SIZE 512

/* Numbers that the server doesn't tell are UNKNOWN everywhere below. */
struct group
{
  int64_t id, connections, threads, running, waiting, long_ones, idle, queue,
    hot, held, stalled;
};

/* Of the histogram of queue times: from so many us up to, and without, so many. */
struct bucket
{
  int64_t from, to, count;
};

struct waiter
{
  int64_t id, time_us;
  char user[64], state[80], statement[STATEMENT_SIZE];
};

struct holder
{
  int64_t id, waiters, age_us;
  bool sleeps;                  /* its client is idle */
  bool waits;                   /* it waits for a lock itself */
  char user[64], command[32], statement[STATEMENT_SIZE];
};

struct wait
{
  char reason[32];
  int64_t waiting;
};

struct sample
{
  double at;                    /* s, of a clock that never goes back */
  char version[96], server[96]; /* the latter: name and port */
  int64_t uptime, connections, max_connections, running, threads, max_threads,
    reserve, exempt, oldest_us;
  int64_t gate_limit, hot, held;
  char gate_reason[64];
  bool pool_is_on;
  struct group *groups;
  unsigned group_count;
  struct group sum;             /* of all groups; its id means nothing */
  bool has_histogram;
  struct bucket *buckets;
  unsigned bucket_count;
  bool has_waits;
  struct wait waits[WAITS_SHOWN];
  unsigned wait_count;
  struct waiter waiters[WAITERS_SHOWN];
  unsigned waiter_count;
  struct holder holders[HOLDERS_SHOWN];
  unsigned holder_count;
  bool holders_are_old;         /* of an earlier reading: asking takes too long */
  /* Why there are none, if that is not because nobody waits; else empty. */
  char no_waiters[96], no_holders[96];
  char missing[160];            /* what this user, or this server, doesn't show */
};

struct connection;
struct reader;

/* What is remembered from one reading to the next: the columns that there are. */
struct reader *reader_create(void);
void reader_destroy(struct reader *reader);
/* For a new connection: looks at the server's columns and our privileges anew. */
void reader_forget(struct reader *reader);

/*
  NULL if the connection is lost, or refuses what every server answers; the
  connection then says why.
*/
struct sample *sample_read(struct reader *reader, struct connection *connection);
void sample_free(struct sample *sample);

#endif
