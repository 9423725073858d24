/* Quantities as people write them: "20ms", "10KB/s", "200/s". */
#ifndef TPBENCH_UNITS_H
#define TPBENCH_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_US 1000LL
#define NS_PER_MS 1000000LL
#define NS_PER_S 1000000000LL

/* Each returns false, and leaves *to alone, if the text is not such a thing. */
bool parse_count(const char *text, uint64_t max, uint64_t *to);
bool parse_duration(const char *text, int64_t *ns);   /* us, ms, s, min; or 0 */
bool parse_rate(const char *text, double *per_second);          /* "200/s" */
bool parse_byte_rate(const char *text, double *per_second);     /* "10KB/s" */
bool parse_yes_no(const char *text, bool *to);

/* "412 us", "7.31 ms", "9.52 s"; returns its argument. */
const char *format_duration(double ns, char *to, size_t size);
/* "12,345", or "4.2" for small ones; returns its argument. */
const char *format_amount(double value, char *to, size_t size);

#endif
