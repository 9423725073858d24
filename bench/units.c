#include "units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool parse_count(const char *text, uint64_t max, uint64_t *to)
{
  char *end;
  if (!isdigit((unsigned char) *text))
    return false;
  errno= 0;
  unsigned long long value= strtoull(text, &end, 10);
  if (*end || errno || value > max)
    return false;
  *to= value;
  return true;
}

/*
  A number that is not negative, and the unit after it. strtod alone would
  take "inf", "nan", "0x10" and a sign.
*/
static bool parse_number_unit(const char *text, double *number,
                              const char **unit)
{
  char *end;
  if (!isdigit((unsigned char) *text) || tolower((unsigned char) text[1]) == 'x')
    return false;
  errno= 0;
  *number= strtod(text, &end);
  if (errno || !isfinite(*number))
    return false;
  while (*end == ' ')
    end++;
  *unit= end;
  return true;
}

struct unit { const char *name; double factor; };

static bool parse_with_units(const char *text, const struct unit *units,
                             double *to)
{
  double number;
  const char *name;
  if (!parse_number_unit(text, &number, &name))
    return false;
  for (; units->name; units++)
    if (!strcmp(name, units->name))
    {
      *to= number * units->factor;
      return true;
    }
  return false;
}

bool parse_duration(const char *text, int64_t *ns)
{
  static const struct unit units[]=
  {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {NULL, 0}};
  double value;
  if (!strcmp(text, "0"))
  {
    *ns= 0;
    return true;
  }
  /* More than a year cannot be meant. */
  if (!parse_with_units(text, units, &value) || value > 3e16)
    return false;
  *ns= (int64_t) value;
  return true;
}

bool parse_rate(const char *text, double *per_second)
{
  static const struct unit units[]= {{"/s", 1}, {"/min", 1.0 / 60}, {NULL, 0}};
  double value;
  /* No machine does more than ten millions. */
  if (!parse_with_units(text, units, &value) || value <= 0 || value > 1e7)
    return false;
  *per_second= value;
  return true;
}

bool parse_byte_rate(const char *text, double *per_second)
{
  static const struct unit units[]=
  {{"B/s", 1}, {"KB/s", 1e3}, {"MB/s", 1e6}, {NULL, 0}};
  double value;
  if (!parse_with_units(text, units, &value) || value <= 0)
    return false;
  *per_second= value;
  return true;
}

bool parse_yes_no(const char *text, bool *to)
{
  if (strcmp(text, "yes") && strcmp(text, "no"))
    return false;
  *to= *text == 'y';
  return true;
}

const char *format_duration(double ns, char *to, size_t size)
{
  /* Three figures, whatever the size. */
  static const struct unit units[]= {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}};
  const struct unit *unit= &units[2];
  if (ns >= 1e9)
    unit= &units[0];
  else if (ns >= 1e6)
    unit= &units[1];
  double value= ns / unit->factor;
  int decimals= value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  snprintf(to, size, "%.*f %s", decimals, value, unit->name);
  return to;
}

const char *format_amount(double value, char *to, size_t size)
{
  if (value < 100)
  {
    snprintf(to, size, value == floor(value) ? "%.0f" : "%.1f", value);
    return to;
  }
  char digits[32];
  int length= snprintf(digits, sizeof(digits), "%.0f", value);
  size_t out= 0;
  for (int i= 0; i < length && out + 2 < size; i++)
  {
    if (i && (length - i) % 3 == 0)
      to[out++]= ',';
    to[out++]= digits[i];
  }
  to[out]= 0;
  return to;
}
