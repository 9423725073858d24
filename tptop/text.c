#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static bool utf8;

void text_use_utf8(bool use) { utf8= use; }
bool text_is_utf8(void) { return utf8; }

/* --- characters -------------------------------------------------------------- */

/*
  The character at the beginning of the text, and its bytes. One byte and
  UINT32_MAX if it is none: cut off, too long for its value, a surrogate.
*/
static uint32_t decode(const unsigned char *text, size_t length, size_t *bytes)
{
  static const uint32_t least[]= {0, 0, 0x80, 0x800, 0x10000};
  unsigned first= text[0];
  *bytes= 1;
  if (first < 0x80)
    return first;
  size_t need= first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || need > length)
    return UINT32_MAX;
  uint32_t value= first & (0xffU >> (need + 1));
  for (size_t i= 1; i < need; i++)
  {
    if ((text[i] & 0xc0) != 0x80)
      return UINT32_MAX;
    value= value << 6 | (text[i] & 0x3f);
  }
  if (value < least[need] || value > 0x10ffff ||
      (value >= 0xd800 && value < 0xe000))
    return UINT32_MAX;
  *bytes= need;
  return value;
}

/* Columns of a character that may be shown; 0 if it may not. */
static unsigned columns_of(uint32_t value)
{
  if (value < 0x80)
    return value >= 0x20 && value < 0x7f;
  if (!utf8 || value == UINT32_MAX || value < 0xa0)
    return 0;
  /* Directions of writing, and what has no width: they hide what is there. */
  if ((value >= 0x200b && value <= 0x200f) || (value >= 0x2028 && value <= 0x202e) ||
      (value >= 0x2060 && value <= 0x206f) || value == 0xfeff || value == 0xad)
    return 0;
  int width= wcwidth((wchar_t) value);
  return width > 0 ? (unsigned) width : 0;
}

void text_clean(char *to, size_t size, const char *from, size_t length)
{
  size_t out= 0;
  bool blank= false;
  if (!from)
  {
    from= "-";
    length= 1;
  }
  const unsigned char *in= (const unsigned char *) from;
  while (length)
  {
    size_t bytes;
    uint32_t value= decode(in, length, &bytes);
    bool is_blank= value == ' ' || (value >= '\t' && value <= '\r');
    bool shown= !is_blank && columns_of(value);
    size_t need= (blank && out && !is_blank) + (shown ? bytes : 1);
    if (!is_blank)
    {
      if (out + need >= size)
        break;
      if (blank && out)
        to[out++]= ' ';
      if (shown)
        memcpy(to + out, in, bytes);
      else
        to[out]= '?';
      out+= shown ? bytes : 1;
    }
    blank= is_blank;
    in+= bytes;
    length-= bytes;
  }
  to[out]= 0;
}

size_t text_fits(const char *text, unsigned columns)
{
  size_t length= strlen(text), used= 0;
  while (used < length)
  {
    size_t bytes;
    uint32_t value= decode((const unsigned char *) text + used, length - used,
                           &bytes);
    unsigned width= columns_of(value);
    if (!width)
      width= 1;
    if (width > columns)
      break;
    columns-= width;
    used+= bytes;
  }
  return used;
}

unsigned text_width(const char *text)
{
  size_t length= strlen(text), used= 0;
  unsigned width= 0;
  while (used < length)
  {
    size_t bytes;
    unsigned columns= columns_of(decode((const unsigned char *) text + used,
                                        length - used, &bytes));
    width+= columns ? columns : 1;
    used+= bytes;
  }
  return width;
}

/* --- numbers ------------------------------------------------------------------- */

bool parse_number(const char *text, int64_t *to)
{
  char *end;
  if (!text || !(isdigit((unsigned char) *text) ||
                 (*text == '-' && isdigit((unsigned char) text[1]))))
    return false;
  errno= 0;
  long long value= strtoll(text, &end, 10);
  if (*end || errno)
    return false;
  *to= value;
  return true;
}

bool parse_seconds(const char *text, double least, double most, double *to)
{
  /* strtod alone would take "inf", "nan", "0x10", a sign and blanks. */
  if (!text || !*text || text[strspn(text, "0123456789.")])
    return false;
  char *end;
  errno= 0;
  double value= strtod(text, &end);
  if (*end || errno || !(value >= least && value <= most))
    return false;
  *to= value;
  return true;
}

const char *format_count(int64_t value, char *to, size_t size)
{
  static const char units[]= "kMGTPE";
  if (value == UNKNOWN)
    snprintf(to, size, "-");
  else if (value < 10000 && value > -10000)
    snprintf(to, size, "%lld", (long long) value);
  else
  {
    double amount= (double) value / 1000;
    unsigned unit= 0;
    /* What would be printed as 1000 belongs to the next unit. */
    for (; fabs(amount) >= 999.5 && units[unit + 1]; unit++)
      amount/= 1000;
    snprintf(to, size, fabs(amount) < 99.95 ? "%.1f%c" : "%.0f%c", amount,
             units[unit]);
  }
  return to;
}

const char *format_id(int64_t value, char *to, size_t size)
{
  snprintf(to, size, value == UNKNOWN ? "-" : "%lld", (long long) value);
  return to;
}

const char *format_time(int64_t us, char *to, size_t size)
{
  double s= (double) us / 1e6;
  if (us < 0)
    snprintf(to, size, "-");
  else if (us < 1000)
    snprintf(to, size, "%d us", (int) us);
  else if (s < 0.9995)
    snprintf(to, size, s < 0.009995 ? "%.2f ms" : s < 0.09995 ? "%.1f ms" : "%.0f ms",
             s * 1000);
  else if (s < 99.95)
    snprintf(to, size, s < 9.995 ? "%.2f s" : "%.1f s", s);
  else if (s < 6000)
    snprintf(to, size, "%.0f s", s);
  else
    format_uptime(us / 1000000, to, size);
  return to;
}

const char *format_age(int64_t us, char *to, size_t size)
{
  if (us < 0 || us >= 6000000000)
    return format_uptime(us < 0 ? UNKNOWN : us / 1000000, to, size);
  snprintf(to, size, "%d s", (int) (us / 1000000));
  return to;
}

const char *format_uptime(int64_t seconds, char *to, size_t size)
{
  long long minutes= seconds / 60, days= minutes / (24 * 60);
  if (seconds < 0)
    snprintf(to, size, "-");
  else if (days)
    snprintf(to, size, "%lld d %02lld:%02lld", days, minutes / 60 % 24,
             minutes % 60);
  else
    snprintf(to, size, "%02lld:%02lld:%02lld", minutes / 60, minutes % 60,
             (long long) seconds % 60);
  return to;
}

/* --- pictures -------------------------------------------------------------------- */

void sparkline(char *to, size_t size, const int64_t *values, unsigned count,
               unsigned columns)
{
  static const char *const blocks[]= {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const char *const ascii[]= {"_", ".", ":", "-", "=", "+", "*", "#"};
  const char *const *levels= utf8 ? blocks : ascii;
  unsigned first= count > columns ? count - columns : 0;
  int64_t most= 0;
  size_t out= 0;
  for (unsigned i= first; i < count; i++)
    if (values[i] > most)
      most= values[i];
  for (unsigned i= first; i < count; i++)
  {
    const char *glyph= " ";
    if (values[i] >= 0)
    {
      /* 0 has the lowest to itself, so that a little can be told from nothing. */
      unsigned level= 0;
      if (values[i] > 0)
        level= 1 + (unsigned) ((double) values[i] / (double) most * 6.0 + 0.5);
      glyph= levels[level > 7 ? 7 : level];
    }
    size_t length= strlen(glyph);
    if (out + length >= size)
      break;
    memcpy(to + out, glyph, length);
    out+= length;
  }
  to[out]= 0;
}

unsigned bar_parts(const int64_t *parts, unsigned count, int64_t most,
                   unsigned columns, unsigned *to)
{
  double scale= most > (int64_t) columns ? (double) columns / (double) most : 1;
  unsigned used= 0;
  for (unsigned i= 0; i < count; i++)
  {
    to[i]= 0;
    if (parts[i] > 0)
    {
      double exact= (double) parts[i] * scale;
      to[i]= exact >= columns ? columns : (unsigned) (exact + 0.5);
      if (!to[i])
        to[i]= 1;
    }
    used+= to[i];
  }
  /* What is too much is taken from the largest: a small part stays visible. */
  for (; used > columns; used--)
  {
    unsigned largest= 0;
    for (unsigned i= 1; i < count; i++)
      if (to[i] > to[largest])
        largest= i;
    to[largest]--;
  }
  return used;
}
