#include "model.h"

#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const group_order_names[]=
{"id", "queue", "running", "waiting", "threads", "connections"};
const char *const waiter_order_names[]= {"time", "id", "user", "state"};
const char *const holder_order_names[]= {"waiters", "age", "id", "user"};

int64_t add_known(int64_t a, int64_t b)
{
  if (a == UNKNOWN)
    return b;
  return b == UNKNOWN ? a : a + b;
}

void sample_free(struct sample *sample)
{
  if (!sample)
    return;
  free(sample->groups);
  free(sample->buckets);
  free(sample);
}

/* --- histograms ---------------------------------------------------------------- */

unsigned histogram_difference(const struct bucket *before, unsigned before_count,
                              const struct bucket *now, unsigned now_count,
                              struct bucket *to)
{
  unsigned old= 0, out= 0;
  bool anew= false;
  for (unsigned i= 0; i < now_count && !anew; i++)
  {
    int64_t had= 0;
    if (old < before_count && before[old].from < now[i].from)
      anew= true;               /* a bucket is gone */
    else if (old < before_count && before[old].from == now[i].from)
      had= before[old++].count;
    anew|= now[i].count < had;
    if (now[i].count > had)
    {
      to[out]= now[i];
      to[out++].count-= had;
    }
  }
  if (!anew && old == before_count)
    return out;
  if (now_count)
    memcpy(to, now, now_count * sizeof(*now));
  return now_count;
}

int64_t histogram_total(const struct bucket *buckets, unsigned count)
{
  int64_t total= 0;
  for (unsigned i= 0; i < count; i++)
    total+= buckets[i].count;
  return total;
}

int64_t histogram_percentile(const struct bucket *buckets, unsigned count,
                             double percent)
{
  int64_t up_to= 0, total= histogram_total(buckets, count);
  double wanted= percent / 100 * (double) total;
  if (total <= 0)
    return UNKNOWN;
  for (unsigned i= 0; i < count; i++)
  {
    up_to+= buckets[i].count;
    if (buckets[i].count > 0 && (double) up_to >= wanted)
      return buckets[i].to;
  }
  return buckets[count - 1].to;
}

/* --- the course ------------------------------------------------------------------ */

void model_init(struct model *model)
{
  memset(model, 0, sizeof(*model));
  model->taken= model->p50= model->p99= UNKNOWN;
  model->total_p50= model->total_p99= UNKNOWN;
}

void model_clear(struct model *model)
{
  sample_free(model->now);
  sample_free(model->before);
  model_init(model);
}

static void remember(struct model *model)
{
  if (model->count == HISTORY)
  {
    model->count--;
    memmove(model->queue_history, model->queue_history + 1,
            model->count * sizeof(int64_t));
    memmove(model->p50_history, model->p50_history + 1,
            model->count * sizeof(int64_t));
    memmove(model->p99_history, model->p99_history + 1,
            model->count * sizeof(int64_t));
  }
  model->queue_history[model->count]= model->now->sum.queue;
  model->p50_history[model->count]= model->p50;
  model->p99_history[model->count]= model->p99;
  model->count++;
}

static void find_percentiles(struct model *model)
{
  const struct sample *now= model->now, *before= model->before;
  model->taken= model->p50= model->p99= UNKNOWN;
  model->total_p50= model->total_p99= UNKNOWN;
  if (!now->has_histogram)
    return;
  model->total_p50= histogram_percentile(now->buckets, now->bucket_count, 50);
  model->total_p99= histogram_percentile(now->buckets, now->bucket_count, 99);
  if (!before || !before->has_histogram)
    return;
  struct bucket *added= malloc((now->bucket_count + 1) * sizeof(*added));
  if (!added)
    return;
  unsigned count=
    histogram_difference(before->buckets, model->restarted ? 0 : before->bucket_count,
                         now->buckets, now->bucket_count, added);
  model->taken= histogram_total(added, count);
  model->p50= histogram_percentile(added, count, 50);
  model->p99= histogram_percentile(added, count, 99);
  free(added);
}

void model_add(struct model *model, struct sample *sample)
{
  sample_free(model->before);
  model->before= model->now;
  model->now= sample;
  model->seconds= model->before ? sample->at - model->before->at : 0;
  /* A second of difference may be rounding. */
  model->restarted= model->before && sample->uptime != UNKNOWN &&
                    sample->uptime + 1 < model->before->uptime;
  find_percentiles(model);
  remember(model);
}

/* --- order ------------------------------------------------------------------------- */

static int compare_numbers(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* qsort() has no argument for them. Only one thread sorts. */
static int sort_order;
static bool sort_reverse;

static int compare_groups(const void *left, const void *right)
{
  const struct group *a= left, *b= right;
  int result= 0;
  switch ((enum group_order) sort_order) {
  case GROUPS_BY_QUEUE: result= compare_numbers(b->queue, a->queue); break;
  case GROUPS_BY_RUNNING: result= compare_numbers(b->running, a->running); break;
  case GROUPS_BY_WAITING: result= compare_numbers(b->waiting, a->waiting); break;
  case GROUPS_BY_THREADS: result= compare_numbers(b->threads, a->threads); break;
  case GROUPS_BY_CONNECTIONS:
    result= compare_numbers(b->connections, a->connections);
    break;
  case GROUPS_BY_ID: case GROUP_ORDERS: break;
  }
  if (!result)
    result= compare_numbers(a->id, b->id);
  return sort_reverse ? -result : result;
}

static int compare_waiters(const void *left, const void *right)
{
  const struct waiter *a= left, *b= right;
  int result= 0;
  switch ((enum waiter_order) sort_order) {
  case WAITERS_BY_ID: result= compare_numbers(a->id, b->id); break;
  case WAITERS_BY_USER: result= strcmp(a->user, b->user); break;
  case WAITERS_BY_STATE: result= strcmp(a->state, b->state); break;
  case WAITERS_BY_TIME: case WAITER_ORDERS: break;
  }
  if (!result)
    result= compare_numbers(b->time_us, a->time_us);
  if (!result)
    result= compare_numbers(a->id, b->id);
  return sort_reverse ? -result : result;
}

static int compare_holders(const void *left, const void *right)
{
  const struct holder *a= left, *b= right;
  int result= 0;
  switch ((enum holder_order) sort_order) {
  case HOLDERS_BY_AGE: result= compare_numbers(b->age_us, a->age_us); break;
  case HOLDERS_BY_ID: result= compare_numbers(a->id, b->id); break;
  case HOLDERS_BY_USER: result= strcmp(a->user, b->user); break;
  case HOLDERS_BY_WAITERS: case HOLDER_ORDERS: break;
  }
  /* Those who only wait in between come after those who really hold. */
  if (!result && sort_order == HOLDERS_BY_WAITERS)
    result= (int) a->waits - (int) b->waits;
  if (!result)
    result= compare_numbers(b->waiters, a->waiters);
  if (!result)
    result= compare_numbers(a->id, b->id);
  return sort_reverse ? -result : result;
}

static void sort(void *rows, unsigned count, size_t size, int order, bool reverse,
                 int (*compare)(const void *, const void *))
{
  sort_order= order;
  sort_reverse= reverse;
  if (count)
    qsort(rows, count, size, compare);
}

void sort_groups(struct group *groups, unsigned count, enum group_order order,
                 bool reverse)
{
  sort(groups, count, sizeof(*groups), order, reverse, compare_groups);
}

void sort_waiters(struct waiter *waiters, unsigned count, enum waiter_order order,
                  bool reverse)
{
  sort(waiters, count, sizeof(*waiters), order, reverse, compare_waiters);
}

void sort_holders(struct holder *holders, unsigned count, enum holder_order order,
                  bool reverse)
{
  sort(holders, count, sizeof(*holders), order, reverse, compare_holders);
}
