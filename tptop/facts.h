/* The facts of the header, in words, for the screen and for batch mode. */
#ifndef TPTOP_FACTS_H
#define TPTOP_FACTS_H

#include "model.h"

#define MOST_FACTS 16

struct fact
{
  const char *name;
  char value[160];
  bool alarm;                   /* look closer, says doc/monitoring.md */
};

/* Returns how many. The first three say which server it is. */
unsigned facts_of(const struct model *model, struct fact *to);

/* "Sleep", "Query", "waits": what a holder does. */
const char *holder_does(const struct holder *holder);

#endif
