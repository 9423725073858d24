/* A word without the blanks around it, for files of options (tptop) and of scenarios (bench). */
#ifndef TPTOP_TRIM_H
#define TPTOP_TRIM_H

#include <ctype.h>
#include <string.h>

/* Cuts the end off in place; the beginning is what it returns. */
static inline char *trim(char *text)
{
  while (isspace((unsigned char) *text))
    text++;
  char *end= text + strlen(text);
  while (end > text && isspace((unsigned char) end[-1]))
    end--;
  *end= 0;
  return text;
}

#endif
