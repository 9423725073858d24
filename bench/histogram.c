#include "histogram.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

void histogram_reset(struct histogram *h)
{
  memset(h, 0, sizeof(*h));
}

/*
  Values below HISTOGRAM_STEPS have a bucket each. From there on, the highest
  bit chooses a row of HISTOGRAM_STEPS buckets, and the next bits the bucket.
*/
unsigned histogram_bucket(uint64_t value)
{
  if (value < HISTOGRAM_STEPS)
    return (unsigned) value;
  unsigned highest_bit= 63 - (unsigned) __builtin_clzll(value);
  if (highest_bit >= HISTOGRAM_VALUE_BITS)
    return HISTOGRAM_BUCKETS - 1;
  unsigned shift= highest_bit - HISTOGRAM_STEP_BITS;
  unsigned step= (unsigned) (value >> shift) & (HISTOGRAM_STEPS - 1);
  return (shift + 1) * HISTOGRAM_STEPS + step;
}

uint64_t histogram_lowest(unsigned bucket)
{
  if (bucket < HISTOGRAM_STEPS)
    return bucket;
  unsigned shift= bucket / HISTOGRAM_STEPS - 1;
  return (uint64_t) (HISTOGRAM_STEPS + bucket % HISTOGRAM_STEPS) << shift;
}

uint64_t histogram_highest(unsigned bucket)
{
  if (bucket >= HISTOGRAM_BUCKETS - 1)
    return UINT64_MAX;
  return histogram_lowest(bucket + 1) - 1;
}

void histogram_add(struct histogram *h, uint64_t value)
{
  if (h->count == 0 || value < h->min)
    h->min= value;
  if (h->count == 0 || value > h->max)
    h->max= value;
  h->count++;
  h->sum+= (double) value;
  h->buckets[histogram_bucket(value)]++;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
  if (from->count == 0)
    return;
  if (to->count == 0 || from->min < to->min)
    to->min= from->min;
  if (to->count == 0 || from->max > to->max)
    to->max= from->max;
  to->count+= from->count;
  to->sum+= from->sum;
  for (unsigned i= 0; i < HISTOGRAM_BUCKETS; i++)
    to->buckets[i]+= from->buckets[i];
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
  if (h->count == 0)
    return 0;
  /* A tiny bit less, or 99.9 % of 1000 would be 1000 for lack of precision. */
  double exact= percent / 100 * (double) h->count;
  uint64_t rank= (uint64_t) ceil(exact - 1e-9 * exact);
  if (rank < 1)
    rank= 1;
  if (rank >= h->count)
    return h->max;
  uint64_t seen= 0;
  for (unsigned i= 0; i < HISTOGRAM_BUCKETS; i++)
  {
    seen+= h->buckets[i];
    if (seen < rank)
      continue;
    uint64_t low= histogram_lowest(i), high= histogram_highest(i);
    uint64_t value= low + (high - low) / 2;
    if (value < h->min)
      return h->min;
    return value > h->max ? h->max : value;
  }
  return h->max;
}

uint64_t histogram_percentile_open(const struct histogram *h,
                                   const struct histogram *open, double percent,
                                   double *known_percent)
{
  uint64_t left= h->count + open->count;
  uint64_t max= h->count ? h->max : 0, result= 0;
  double longer= 1;             /* the share that takes longer than this bucket */
  bool found= false;
  if (open->count && open->max > max)
    max= open->max;
  if (open->count == 0)
  {
    *known_percent= 100;
    return histogram_percentile(h, percent);
  }
  for (unsigned i= 0; i < HISTOGRAM_BUCKETS && left; i++)
  {
    if (h->buckets[i])
      longer*= 1 - (double) h->buckets[i] / (double) left;
    left-= h->buckets[i] + open->buckets[i];
    if (!found && h->buckets[i] && (1 - longer) * 100 >= percent - 1e-9)
    {
      uint64_t low= histogram_lowest(i), high= histogram_highest(i);
      result= low + (high - low) / 2;
      found= true;
    }
  }
  *known_percent= (1 - longer) * 100;
  return found && result < max ? result : max;
}

double histogram_mean(const struct histogram *h)
{
  return h->count ? h->sum / (double) h->count : 0;
}
