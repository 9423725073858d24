/* Just enough of the Test Anything Protocol for the unit tests here. */
#ifndef TPBENCH_TAP_H
#define TPBENCH_TAP_H

#include <stdio.h>

static int tap_count, tap_failures;

#define ok(condition, ...) \
  do { \
    int tap_good= !!(condition); \
    printf("%sok %d - ", tap_good ? "" : "not ", ++tap_count); \
    printf(__VA_ARGS__); \
    putchar('\n'); \
    if (!tap_good) \
    { \
      tap_failures++; \
      printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition); \
    } \
  } while (0)

static inline int tap_done(void)
{
  printf("1..%d\n", tap_count);
  return tap_failures != 0;
}

#endif
