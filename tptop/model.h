/*
  What follows from readings: differences, percentiles, the course of the last
  minutes, the order of rows.
*/
#ifndef TPTOP_MODEL_H
#define TPTOP_MODEL_H

#include "sample.h"

#define HISTORY 512

enum group_order
{
  GROUPS_BY_ID, GROUPS_BY_QUEUE, GROUPS_BY_RUNNING, GROUPS_BY_WAITING,
  GROUPS_BY_THREADS, GROUPS_BY_CONNECTIONS, GROUP_ORDERS
};
enum waiter_order
{
  WAITERS_BY_TIME, WAITERS_BY_ID, WAITERS_BY_USER, WAITERS_BY_STATE,
  WAITER_ORDERS
};
enum holder_order
{
  HOLDERS_BY_WAITERS, HOLDERS_BY_AGE, HOLDERS_BY_ID, HOLDERS_BY_USER,
  HOLDER_ORDERS
};
extern const char *const group_order_names[GROUP_ORDERS];
extern const char *const waiter_order_names[WAITER_ORDERS];
extern const char *const holder_order_names[HOLDER_ORDERS];

struct model
{
  struct sample *now, *before;  /* NULL if there is none yet */
  double seconds;               /* between the two; 0 for the first one */
  bool restarted;               /* the server has been started anew since */
  /* Of statements that were taken from a queue between the two; in us. */
  int64_t taken, p50, p99;
  /* Since the start of the server. */
  int64_t total_p50, total_p99;
  /* The oldest first; UNKNOWN where nothing was known. */
  unsigned count;
  int64_t queue_history[HISTORY], p50_history[HISTORY], p99_history[HISTORY];
};

void model_init(struct model *model);
/* Takes the sample, and frees the one before the last. */
void model_add(struct model *model, struct sample *sample);
void model_clear(struct model *model);

/*
  What was added to a histogram from "before" to "now", which both are ordered,
  in "to", with room for all of now's buckets. If any count got smaller, or a bucket is gone,
  the counters began anew: then it is all of "now". Returns the number of buckets.
*/
unsigned histogram_difference(const struct bucket *before, unsigned before_count,
                              const struct bucket *now, unsigned now_count,
                              struct bucket *to);
int64_t histogram_total(const struct bucket *buckets, unsigned count);
/* The upper end of the bucket that holds it; UNKNOWN if all are empty. */
int64_t histogram_percentile(const struct bucket *buckets, unsigned count,
                             double percent);

/* Largest first, but for ids and names; the other way round with "reverse". */
void sort_groups(struct group *groups, unsigned count, enum group_order order,
                 bool reverse);
void sort_waiters(struct waiter *waiters, unsigned count, enum waiter_order order,
                  bool reverse);
void sort_holders(struct holder *holders, unsigned count, enum holder_order order,
                  bool reverse);

/* The sum of two numbers either of which may be unknown: then the other. */
int64_t add_known(int64_t a, int64_t b);

#endif
