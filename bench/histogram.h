/*
  A latency histogram: log-linear buckets, so that every value from 1 ns to
  hours is kept with less than 1 % of error in a fixed amount of memory.

  Not locked: each event thread has its own, and they are merged at the end.
*/
#ifndef TPBENCH_HISTOGRAM_H
#define TPBENCH_HISTOGRAM_H

#include <stdint.h>

/* 128 buckets for each power of two: a bucket is 1/128 of its value wide. */
#define HISTOGRAM_STEP_BITS 7
#define HISTOGRAM_STEPS (1U << HISTOGRAM_STEP_BITS)
/* Values of 2^45 ns (9.7 hours) and more share the last bucket. */
#define HISTOGRAM_VALUE_BITS 45
#define HISTOGRAM_BUCKETS \
  ((HISTOGRAM_VALUE_BITS - HISTOGRAM_STEP_BITS + 1) * HISTOGRAM_STEPS)

struct histogram
{
  uint64_t count;
  uint64_t min, max;            /* exact; of no meaning while count is 0 */
  double sum;
  uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_reset(struct histogram *h);
void histogram_add(struct histogram *h, uint64_t value);
void histogram_merge(struct histogram *to, const struct histogram *from);

/*
  The value that `percent` percent of the values do not exceed: the middle of
  its bucket, but never beyond the real minimum and maximum. 0 if empty.
*/
uint64_t histogram_percentile(const struct histogram *h, double percent);
double histogram_mean(const struct histogram *h);

/*
  The same when some requests never ended: `open` holds the ages that they had
  reached, so that each is known to be longer than that. This is the
  Kaplan-Meier estimate: at each value, the share of those still open then that
  ended there. Where too few ended to tell, the result is the largest value that
  was seen, and *known_percent (up to where it can be told) is below `percent`.
*/
uint64_t histogram_percentile_open(const struct histogram *h,
                                   const struct histogram *open, double percent,
                                   double *known_percent);

/* Where a value goes, and which values a bucket holds (both ends included). */
unsigned histogram_bucket(uint64_t value);
uint64_t histogram_lowest(unsigned bucket);
uint64_t histogram_highest(unsigned bucket);

#endif
