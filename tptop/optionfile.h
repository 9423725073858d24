/*
  Reads option files as MariaDB's own programs do. (The library's reader is not
  enough: it ignores what it doesn't know, reads only "my.cnf" of an
  !includedir, and goes before the command line.)
*/
#ifndef TPTOP_OPTIONFILE_H
#define TPTOP_OPTIONFILE_H

#include <stdbool.h>
#include <stddef.h>

/*
  Called for each option of the wanted groups, in order. The name has dashes, no
  underscores; value is NULL if there is none. False ends the reading; then an
  error was set.
*/
typedef bool (*option_found)(void *context, const char *group, const char *name,
                             const char *value, const char *where);

struct optionfile
{
  const char *const *groups;    /* ends with NULL */
  option_found found;
  void *context;
  char error[512];
};

/* A file that isn't there is an error only if it must be. */
bool optionfile_read(struct optionfile *o, const char *path, bool must);

#endif
