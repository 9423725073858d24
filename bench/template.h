/*
  Statements with random integers:

    {1..1000}      a random integer, both ends included
    {id=1..1000}   the same, and remembered as "id" for the rest of the pass
    {id}           the value remembered
    {conn}         number of the connection in its class, from 0
    {pass}         number of the pass on this connection, from 0
    {{ and }}      the braces themselves

  A template is expanded either into text, or, for prepared statements, into
  the values of its "?" placeholders.
*/
#ifndef TPBENCH_TEMPLATE_H
#define TPBENCH_TEMPLATE_H

#include <stddef.h>
#include <stdint.h>

/* Names remembered within a pass: shared by the statements of one class. */
#define MAX_NAMES 16
#define MAX_NAME_LENGTH 31

struct names
{
  unsigned count;
  char name[MAX_NAMES][MAX_NAME_LENGTH + 1];
};

/* What an expansion takes its values from; belongs to one connection. */
struct values
{
  uint64_t *random_state;       /* of the event thread */
  int64_t conn, pass;
  int64_t named[MAX_NAMES];
};

enum part_kind { PART_TEXT, PART_RANDOM, PART_NAMED, PART_CONN, PART_PASS };

struct part
{
  enum part_kind kind;
  const char *text;             /* PART_TEXT: within the template's own copy */
  size_t length;
  int64_t low, high;            /* PART_RANDOM */
  int name;                     /* PART_NAMED, PART_RANDOM: index, or -1 */
};

struct template
{
  char *source;                 /* holds the text parts, braces unescaped */
  struct part *parts;
  unsigned part_count;
  unsigned number_count;        /* parts that are numbers: the placeholders */
  size_t max_length;            /* of the expanded text, with its end */
};

/*
  Parses text. On error returns NULL and writes a message with the position.
  Adds the names that the text defines to *names.
*/
struct template *template_parse(const char *text, struct names *names,
                                char *error, size_t error_size);
void template_free(struct template *t);

/*
  Writes the expanded text, which takes at most t->max_length bytes with the
  final zero; returns its length without it.
*/
size_t template_expand(const struct template *t, struct values *v, char *to);

/* The statement to prepare (same limits), and the values to execute it with. */
size_t template_placeholders(const struct template *t, char *to);
void template_numbers(const struct template *t, struct values *v,
                      int64_t *numbers);

/* splitmix64: one word of state, any seed will do. */
uint64_t random_next(uint64_t *state);
/* Evenly distributed in low..high. */
int64_t random_between(uint64_t *state, int64_t low, int64_t high);
/* In (0, 1]. */
double random_fraction(uint64_t *state);

#endif
