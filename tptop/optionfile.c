#include "optionfile.h"
#include "trim.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_INCLUDES 10

static bool read_file(struct optionfile *o, const char *path, bool must,
                      unsigned depth);

static bool wanted(const struct optionfile *o, const char *group)
{
  for (const char *const *name= o->groups; *name; name++)
    if (!strcmp(*name, group))
      return true;
  return false;
}

/* A "#" that is not inside of quotes begins a comment. */
static void cut_comment(char *text)
{
  char quote= 0;
  for (; *text; text++)
  {
    if (*text == '\\' && text[1])
      text++;
    else if (quote ? *text == quote : *text == '"' || *text == '\'')
      quote= quote ? 0 : *text;
    else if (*text == '#' && !quote)
      *text= 0;
    if (!*text)
      break;
  }
}

/* Without quotes, and with "\n" and the like as what they stand for. */
static char *unquote(char *text)
{
  static const char codes[]= "nrtbs\\\"'", chars[]= "\n\r\t\b \\\"'";
  size_t length= strlen(text);
  if (length >= 2 && (*text == '"' || *text == '\'') && text[length - 1] == *text)
  {
    text[length - 1]= 0;
    text++;
  }
  char *to= text;
  for (const char *from= text; *from; from++)
  {
    const char *code= *from == '\\' && from[1] ? strchr(codes, from[1]) : NULL;
    if (code)
      from++;
    *to++= code ? chars[code - codes] : *from;
  }
  *to= 0;
  return text;
}

static int only_cnf(const struct dirent *entry)
{
  size_t length= strlen(entry->d_name);
  return length > 4 && !strcmp(entry->d_name + length - 4, ".cnf");
}

static bool read_directory(struct optionfile *o, const char *path, unsigned depth)
{
  struct dirent **entries;
  bool good= true;
  int count= scandir(path, &entries, only_cnf, alphasort);
  for (int i= 0; i < count; i++)
  {
    char file[PATH_MAX];
    snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
    good= good && read_file(o, file, false, depth);
    free(entries[i]);
  }
  if (count >= 0)
    free(entries);
  return good;
}

static bool include(struct optionfile *o, char *line, unsigned depth)
{
  if (depth >= MOST_INCLUDES)
    return true;
  if (!strncmp(line, "!includedir", 11) && isspace((unsigned char) line[11]))
    return read_directory(o, trim(line + 11), depth + 1);
  if (!strncmp(line, "!include", 8) && isspace((unsigned char) line[8]))
    return read_file(o, trim(line + 8), false, depth + 1);
  return true;
}

static bool read_option(struct optionfile *o, const char *group, char *line,
                        const char *where)
{
  cut_comment(line);
  char *value= strchr(line, '=');
  if (value)
  {
    *value++= 0;
    value= unquote(trim(value));
  }
  char *name= trim(line);
  for (char *c= name; *c; c++)
    if (*c == '_')
      *c= '-';
  return !*name || o->found(o->context, group, name, value, where);
}

/* Anybody could write there what the user then does. */
static bool may_be_trusted(const char *path)
{
  struct stat about;
  if (stat(path, &about) || !(S_ISREG(about.st_mode)) ||
      !(about.st_mode & S_IWOTH))
    return true;
  fprintf(stderr, "tptop: %s is ignored: everybody may write to it\n", path);
  return false;
}

static bool read_file(struct optionfile *o, const char *path, bool must,
                      unsigned depth)
{
  char *line= NULL, group[64]= "", where[PATH_MAX + 16];
  size_t room= 0;
  unsigned number= 0;
  bool good= true, is_wanted= false;
  FILE *file= fopen(path, "re");
  if (!file)
  {
    if (must)
      snprintf(o->error, sizeof(o->error), "%s: %s", path, strerror(errno));
    return !must;
  }
  if (!may_be_trusted(path))
  {
    fclose(file);
    return true;
  }
  while (good && getline(&line, &room, file) >= 0)
  {
    char *text= trim(line);
    number++;
    if (*text == '!')
      good= include(o, text, depth);
    else if (*text == '[')
    {
      char *end= strchr(text, ']');
      if (end)
        *end= 0;
      snprintf(group, sizeof(group), "%s", trim(text + 1));
      is_wanted= wanted(o, group);
    }
    else if (is_wanted && *text && *text != '#' && *text != ';')
    {
      snprintf(where, sizeof(where), "%s, line %u", path, number);
      good= read_option(o, group, text, where);
    }
  }
  free(line);
  fclose(file);
  return good;
}

bool optionfile_read(struct optionfile *o, const char *path, bool must)
{
  o->error[0]= 0;
  return read_file(o, path, must, 0);
}
