/*
  Text for a terminal: made safe, cut to a width, numbers and times as people
  read them, bars and sparklines. Nothing here knows the server or curses.
*/
#ifndef TPTOP_TEXT_H
#define TPTOP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Says that a number is not known; shown as "-". */
#define UNKNOWN (-1)

/* Whether the functions below may give more than ASCII; false at the start. */
void text_use_utf8(bool use);
bool text_is_utf8(void);

/*
  Copies text of the server: blanks and line ends in a row become one blank, what
  a terminal could take for a command, or not show, becomes "?". NULL becomes
  "-". The result is always terminated; a character is never cut in its middle.
*/
void text_clean(char *to, size_t size, const char *from, size_t length);

/* The columns that a clean text takes. */
unsigned text_width(const char *text);
/* How many bytes of a clean text fit into so many columns. */
size_t text_fits(const char *text, unsigned columns);

/*
  A whole number with nothing around it. False, and *to is left alone, for
  anything else: NULL, an empty text, a number that is too large.
*/
bool parse_number(const char *text, int64_t *to);
/* Seconds, perhaps with decimals, from least to most. */
bool parse_seconds(const char *text, double least, double most, double *to);

/* Each returns its argument. Unknown numbers become "-". */
const char *format_count(int64_t value, char *to, size_t size);   /* "12.3k" */
const char *format_id(int64_t value, char *to, size_t size);      /* "123456" */
const char *format_time(int64_t us, char *to, size_t size);       /* "1.20 s" */
const char *format_age(int64_t us, char *to, size_t size);        /* "12 s" */
const char *format_uptime(int64_t seconds, char *to, size_t size);/* "3 d 04:05" */

/*
  The last values as one character each, at most so many columns, the newest at
  the right; the highest value has the highest character. An unknown one is a
  blank.
*/
void sparkline(char *to, size_t size, const int64_t *values, unsigned count,
               unsigned columns);

/*
  Columns for each part of a bar, if "most" takes all of the width; if it has as
  many columns, each thing takes one. A part that is not empty gets one at
  least, as long as there is room. Returns the sum.
*/
unsigned bar_parts(const int64_t *parts, unsigned count, int64_t most,
                   unsigned columns, unsigned *to);

#endif
