#include "template.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest number, -9223372036854775808, has 20 characters. */
#define MAX_DIGITS 20

uint64_t random_next(uint64_t *state)
{
  uint64_t z= (*state+= 0x9e3779b97f4a7c15ULL);
  z= (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z= (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

int64_t random_between(uint64_t *state, int64_t low, int64_t high)
{
  uint64_t span= (uint64_t) high - (uint64_t) low + 1;
  if (span == 0)                        /* all 2^64 values */
    return (int64_t) random_next(state);
  /* The high word of a 128-bit product: no division, and no bias that counts. */
  uint64_t offset= (uint64_t)
    (((unsigned __int128) random_next(state) * span) >> 64);
  return (int64_t) ((uint64_t) low + offset);
}

double random_fraction(uint64_t *state)
{
  return ((double) (random_next(state) >> 11) + 1) / 9007199254740992.0;
}

static int find_name(const struct names *names, const char *name, size_t length)
{
  for (unsigned i= 0; i < names->count; i++)
    if (strlen(names->name[i]) == length && !memcmp(names->name[i], name, length))
      return (int) i;
  return -1;
}

static bool parse_number(const char *from, const char *end, int64_t *to)
{
  char copy[MAX_DIGITS + 2], *stop;
  size_t length= (size_t) (end - from);
  if (length == 0 || length >= sizeof(copy) || isspace((unsigned char) *from))
    return false;
  memcpy(copy, from, length);
  copy[length]= 0;
  errno= 0;
  *to= strtoll(copy, &stop, 10);
  return *stop == 0 && errno == 0;
}

static bool is_name(const char *from, size_t length)
{
  if (length == 0 || length > MAX_NAME_LENGTH ||
      !(isalpha((unsigned char) *from) || *from == '_'))
    return false;
  for (size_t i= 1; i < length; i++)
    if (!isalnum((unsigned char) from[i]) && from[i] != '_')
      return false;
  return true;
}

static bool is_word(const char *from, size_t length, const char *word)
{
  return strlen(word) == length && !memcmp(from, word, length);
}

/*
  What stands between two braces. Returns NULL, or what is wrong with it.
*/
static const char *parse_braces(const char *from, const char *end,
                                struct names *names, struct part *part)
{
  size_t length= (size_t) (end - from);
  part->name= -1;
  if (is_word(from, length, "conn"))
  {
    part->kind= PART_CONN;
    return NULL;
  }
  if (is_word(from, length, "pass"))
  {
    part->kind= PART_PASS;
    return NULL;
  }
  if (is_name(from, length))
  {
    part->kind= PART_NAMED;
    part->name= find_name(names, from, length);
    return part->name < 0 ? "unknown name: it must be given a value, as in "
                            "{name=1..10}, earlier in the pass" : NULL;
  }
  const char *equals= memchr(from, '=', length);
  if (equals)
  {
    size_t name_length= (size_t) (equals - from);
    if (!is_name(from, name_length))
      return "not a name before '=': letters, digits and _ only";
    if (is_word(from, name_length, "conn") || is_word(from, name_length, "pass"))
      return "conn and pass have their values already";
    part->name= find_name(names, from, name_length);
    if (part->name < 0)
    {
      if (names->count == MAX_NAMES)
        return "too many names in this class";
      part->name= (int) names->count++;
      memcpy(names->name[part->name], from, name_length);
      names->name[part->name][name_length]= 0;
    }
    from= equals + 1;
  }
  const char *dots= strstr(from, "..");
  if (!dots || dots >= end ||
      !parse_number(from, dots, &part->low) ||
      !parse_number(dots + 2, end, &part->high))
    return "not {low..high}, {name=low..high}, {name}, {conn} or {pass}; "
           "write {{ for a brace";
  if (part->low > part->high)
    return "the range is empty: its low end is above its high end";
  part->kind= PART_RANDOM;
  return NULL;
}

static struct part *add_part(struct template *t)
{
  struct part *grown= realloc(t->parts, (t->part_count + 1) * sizeof(*grown));
  if (!grown)
    return NULL;
  t->parts= grown;
  memset(&grown[t->part_count], 0, sizeof(*grown));
  return &grown[t->part_count++];
}

struct template *template_parse(const char *text, struct names *names,
                                char *error, size_t error_size)
{
  struct template *t= calloc(1, sizeof(*t));
  const char *problem= "out of memory", *in= text;
  char *out;
  if (!t || !(t->source= malloc(strlen(text) + 1)))
    goto failed;
  out= t->source;
  t->max_length= 1;

  while (*in)
  {
    if (*in == '{' && in[1] != '{')
    {
      const char *end= strchr(in, '}');
      struct part *part;
      if (!end)
      {
        problem= "a brace is not closed; write {{ for a brace";
        goto failed;
      }
      problem= "out of memory";
      if (!(part= add_part(t)) ||
          (problem= parse_braces(in + 1, end, names, part)))
        goto failed;
      t->number_count++;
      t->max_length+= MAX_DIGITS;
      in= end + 1;
      continue;
    }
    if (*in == '}' && in[1] != '}')
    {
      problem= "a closing brace without an opening one; write }} for a brace";
      goto failed;
    }
    if (t->part_count == 0 || t->parts[t->part_count - 1].kind != PART_TEXT)
    {
      struct part *part= add_part(t);
      if (!part)
        goto failed;
      part->kind= PART_TEXT;
      part->text= out;
    }
    t->parts[t->part_count - 1].length++;
    t->max_length++;
    *out++= *in;
    in+= (*in == '{' || *in == '}') ? 2 : 1;
  }
  return t;

failed:
  snprintf(error, error_size, "%s (at character %zu)", problem,
           (size_t) (in - text) + 1);
  template_free(t);
  return NULL;
}

void template_free(struct template *t)
{
  if (!t)
    return;
  free(t->source);
  free(t->parts);
  free(t);
}

static int64_t part_value(const struct part *part, struct values *v)
{
  switch (part->kind) {
  case PART_CONN:
    return v->conn;
  case PART_PASS:
    return v->pass;
  case PART_NAMED:
    return v->named[part->name];
  case PART_RANDOM:
  {
    int64_t value= random_between(v->random_state, part->low, part->high);
    if (part->name >= 0)
      v->named[part->name]= value;
    return value;
  }
  case PART_TEXT:
    break;
  }
  return 0;
}

/* Called for each number of each statement, so without printf. */
static char *write_number(char *to, int64_t value)
{
  char digits[MAX_DIGITS];
  unsigned n= 0;
  uint64_t rest= value < 0 ? 0 - (uint64_t) value : (uint64_t) value;
  if (value < 0)
    *to++= '-';
  do
    digits[n++]= (char) ('0' + rest % 10);
  while (rest/= 10);
  while (n)
    *to++= digits[--n];
  return to;
}

/* Numbers are written as values, or as placeholders if there are none (v). */
static size_t write_parts(const struct template *t, struct values *v, char *to)
{
  char *out= to;
  for (unsigned i= 0; i < t->part_count; i++)
  {
    const struct part *part= &t->parts[i];
    if (part->kind == PART_TEXT)
    {
      memcpy(out, part->text, part->length);
      out+= part->length;
    }
    else if (v)
      out= write_number(out, part_value(part, v));
    else
      *out++= '?';
  }
  *out= 0;
  return (size_t) (out - to);
}

size_t template_expand(const struct template *t, struct values *v, char *to)
{
  return write_parts(t, v, to);
}

size_t template_placeholders(const struct template *t, char *to)
{
  return write_parts(t, NULL, to);
}

void template_numbers(const struct template *t, struct values *v,
                      int64_t *numbers)
{
  unsigned n= 0;
  for (unsigned i= 0; i < t->part_count; i++)
    if (t->parts[i].kind != PART_TEXT)
      numbers[n++]= part_value(&t->parts[i], v);
}
