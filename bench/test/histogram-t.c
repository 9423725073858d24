/* The histogram: resolution, percentiles, merging, the ends of its range. */
#include "histogram.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static struct histogram *fresh(void)
{
  struct histogram *h= malloc(sizeof(*h));
  histogram_reset(h);
  return h;
}

static double relative_error(uint64_t got, double wanted)
{
  double difference= (double) got - wanted;
  return (difference < 0 ? -difference : difference) / wanted;
}

/* Buckets must cover all values without a gap, an overlap or a coarse one. */
static void test_buckets(void)
{
  int gaps= 0, misplaced= 0, coarse= 0;
  for (unsigned i= 0; i + 1 < HISTOGRAM_BUCKETS; i++)
  {
    uint64_t low= histogram_lowest(i), high= histogram_highest(i);
    gaps+= histogram_lowest(i + 1) != high + 1;
    misplaced+= histogram_bucket(low) != i || histogram_bucket(high) != i;
    /* Reported is the middle: the error is half of the width. */
    coarse+= low >= HISTOGRAM_STEPS &&
             (double) (high - low) / 2 / (double) low > 0.01;
  }
  ok(histogram_lowest(0) == 0, "begins at 0");
  ok(gaps == 0, "no gap and no overlap between buckets");
  ok(misplaced == 0, "both ends of a bucket belong to it");
  ok(coarse == 0, "no bucket is off by more than 1 %%");
  ok(histogram_bucket(UINT64_MAX) == HISTOGRAM_BUCKETS - 1,
     "the largest value has a bucket");
}

static void test_empty(void)
{
  struct histogram *h= fresh();
  ok(histogram_percentile(h, 99) == 0, "empty: percentile is 0");
  ok(histogram_mean(h) == 0, "empty: mean is 0");
  free(h);
}

static void test_one_value(void)
{
  struct histogram *h= fresh();
  histogram_add(h, 1234567);
  ok(histogram_percentile(h, 0) == 1234567, "one value: percentile 0 is exact");
  ok(histogram_percentile(h, 50) == 1234567, "one value: median is exact");
  ok(histogram_percentile(h, 99.99) == 1234567, "one value: p99.99 is exact");
  ok(h->min == 1234567 && h->max == 1234567, "one value: minimum and maximum");
  free(h);
}

/* 1 us, 2 us, ... 100000 us: percentiles are known. */
static void test_percentiles(void)
{
  static const double percents[]= {1, 10, 50, 90, 99, 99.9, 99.99};
  struct histogram *h= fresh();
  for (uint64_t i= 1; i <= 100000; i++)
    histogram_add(h, i * 1000);
  for (unsigned i= 0; i < sizeof(percents) / sizeof(*percents); i++)
    ok(relative_error(histogram_percentile(h, percents[i]),
                      percents[i] / 100 * 100000 * 1000) < 0.01,
       "p%g of evenly spread values is right within 1 %%", percents[i]);
  ok(histogram_percentile(h, 100) == 100000 * 1000, "p100 is the exact maximum");
  ok(relative_error((uint64_t) histogram_mean(h), 50000.5 * 1000) < 1e-9,
     "the mean is exact");
  free(h);
}

/* One slow request in a thousand is p99.9's neighbour, not p99.9. */
static void test_ranks(void)
{
  struct histogram *h= fresh();
  for (int i= 0; i < 999; i++)
    histogram_add(h, 1000);
  histogram_add(h, 1000000000);
  ok(histogram_percentile(h, 99) < 1010, "999 fast, 1 slow: p99 is fast");
  ok(histogram_percentile(h, 99.9) < 1010, "999 fast, 1 slow: p99.9 is fast");
  ok(histogram_percentile(h, 99.99) == 1000000000,
     "999 fast, 1 slow: p99.99 is the slow one");
  ok(h->max == 1000000000, "999 fast, 1 slow: the maximum is exact");
  histogram_add(h, 1000000000);
  ok(histogram_percentile(h, 99.9) == 1000000000,
     "999 fast, 2 slow: p99.9 is slow");
  free(h);
}

static void test_merge(void)
{
  struct histogram *a= fresh(), *b= fresh(), *all= fresh();
  for (uint64_t i= 1; i < 3000; i++)
  {
    histogram_add(i % 3 ? a : b, i * i);
    histogram_add(all, i * i);
  }
  histogram_merge(a, b);
  ok(a->count == all->count && a->min == all->min && a->max == all->max,
     "merged: count, minimum and maximum");
  ok(!memcmp(a->buckets, all->buckets, sizeof(a->buckets)), "merged: buckets");
  histogram_reset(b);
  histogram_merge(a, b);
  ok(a->min == all->min && a->count == all->count,
     "merging an empty one changes nothing");
  histogram_merge(b, all);
  ok(b->min == all->min && b->max == all->max,
     "merging into an empty one takes over minimum and maximum");
  free(a);
  free(b);
  free(all);
}

/* Requests that never ended: each is longer than the age that it reached. */
static void test_open(void)
{
  struct histogram *h= fresh(), *open= fresh();
  double known;
  for (uint64_t i= 1; i <= 100; i++)
    histogram_add(h, i * 1000000);
  ok(relative_error(histogram_percentile_open(h, open, 90, &known), 90e6) < 0.01 &&
     known == 100, "all ended: as without");
  /* Ages of zero say nothing, so nothing changes. */
  for (int i= 0; i < 1000; i++)
    histogram_add(open, 0);
  ok(relative_error(histogram_percentile_open(h, open, 90, &known), 90e6) < 0.02,
     "those that have just begun do not make it slower or faster");
  histogram_reset(open);
  /* Half of all get as old as the oldest of the others, and go on. */
  for (int i= 0; i < 100; i++)
    histogram_add(open, 200000000);
  ok(relative_error(histogram_percentile_open(h, open, 25, &known), 50e6) < 0.02,
     "half is open: the quarter is the median of those that ended");
  ok(relative_error((uint64_t) known, 50) < 0.03, "half is known");
  ok(histogram_percentile_open(h, open, 99, &known) == 200000000 && known < 99,
     "beyond that: the oldest age, and that it is not known");
  histogram_reset(h);
  ok(histogram_percentile_open(h, open, 50, &known) == 200000000 && known == 0,
     "nothing ended: the oldest age, nothing is known");
  /* 1 to 100 ms, each watched for a random time only. */
  histogram_reset(open);
  for (uint64_t i= 0; i < 100000; i++)
  {
    uint64_t latency= (1 + i % 100) * 1000000, watched= (i * 7919 % 150) * 1000000;
    if (latency <= watched)
      histogram_add(h, latency);
    else
      histogram_add(open, watched);
  }
  ok(relative_error(histogram_percentile_open(h, open, 50, &known), 50e6) < 0.03,
     "watched too shortly: the median is still right (%.1f ms)",
     (double) histogram_percentile_open(h, open, 50, &known) / 1e6);
  ok(relative_error(histogram_percentile_open(h, open, 90, &known), 90e6) < 0.03,
     "and p90");
  free(h);
  free(open);
}

static void test_extremes(void)
{
  struct histogram *h= fresh();
  histogram_add(h, 0);
  histogram_add(h, UINT64_MAX / 2);
  ok(histogram_percentile(h, 50) == 0, "0 ns is a value");
  ok(histogram_percentile(h, 100) == UINT64_MAX / 2, "so are 292 years");
  free(h);
}

int main(void)
{
  test_buckets();
  test_empty();
  test_one_value();
  test_percentiles();
  test_ranks();
  test_merge();
  test_open();
  test_extremes();
  return tap_done();
}
