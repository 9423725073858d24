/* The statement expander: what it makes of templates, and what it refuses. */
#include "template.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static uint64_t random_state= 42;
static struct values values;

static const char *expand_with(const char *text, struct names *names)
{
  static char to[500];
  char error[200];
  struct template *t= template_parse(text, names, error, sizeof(error));
  if (!t)
  {
    snprintf(to, sizeof(to), "error: %s", error);
    return to;
  }
  size_t length= template_expand(t, &values, to);
  if (length != strlen(to) || length >= t->max_length)
    strcpy(to, "wrong length");
  template_free(t);
  return to;
}

static const char *expand(const char *text)
{
  struct names names= {0};
  return expand_with(text, &names);
}

static void test_text(void)
{
  ok(!strcmp(expand(""), ""), "nothing stays nothing");
  ok(!strcmp(expand("SELECT 1"), "SELECT 1"), "plain text stays");
  ok(!strcmp(expand("{{}}"), "{}"), "doubled braces are braces");
  ok(!strcmp(expand("a{{{5..5}}}b"), "a{5}b"), "braces around a number");
}

static void test_numbers(void)
{
  ok(!strcmp(expand("{7..7}"), "7"), "a range of one");
  ok(!strcmp(expand("{-3..-3},{0..0}"), "-3,0"), "negative and zero");
  ok(!strcmp(expand("{-9223372036854775808..-9223372036854775808}"),
             "-9223372036854775808"), "the smallest number");
  ok(!strcmp(expand("{9223372036854775807..9223372036854775807}"),
             "9223372036854775807"), "the largest number");
  values.conn= 12;
  values.pass= 3;
  ok(!strcmp(expand("{conn}/{pass}"), "12/3"), "connection and pass");
}

/* Each value of a small range comes up, about equally often, none beyond. */
static void test_distribution(void)
{
  unsigned seen[10]= {0}, outside= 0, lowest= 1000, highest= 0;
  for (int i= 0; i < 5000; i++)
  {
    int64_t n= random_between(&random_state, -4, 5) + 4;
    if (n < 0 || n > 9)
      outside++;
    else
      seen[n]++;
  }
  for (int i= 0; i < 10; i++)
  {
    lowest= seen[i] < lowest ? seen[i] : lowest;
    highest= seen[i] > highest ? seen[i] : highest;
  }
  ok(outside == 0, "random: nothing outside of the range");
  ok(lowest > 400 && highest < 600, "random: evenly distributed (%u to %u of "
     "5000 in ten)", lowest, highest);
  int64_t a= random_between(&random_state, INT64_MIN, INT64_MAX);
  int64_t b= random_between(&random_state, INT64_MIN, INT64_MAX);
  ok(a != b, "random: the whole range of integers");
  uint64_t one= 7, two= 7;
  ok(random_next(&one) == random_next(&two), "random: the same seed, the same "
     "numbers");
}

static void test_names(void)
{
  struct names names= {0};
  int same= 1, differ= 0;
  char first[100]= "";
  for (int i= 0; i < 20; i++)
  {
    char text[100], *slash;
    strcpy(text, expand("{id=1..1000000}/{id}/{id}"));
    slash= strchr(text, '/');
    same&= slash && strlen(slash + 1) == 2 * (size_t) (slash - text) + 1 &&
           !strncmp(text, slash + 1, (size_t) (slash - text));
    differ|= *first && strcmp(first, text);
    strcpy(first, text);
  }
  ok(same, "a name keeps its value");
  ok(differ, "a name gets a new value each time it is drawn");
  char drawn[100];
  strcpy(drawn, expand_with("{row=1..1000000}", &names));
  ok(!strcmp(expand_with("{row}", &names), drawn),
     "a name is known in the next statement of the class");
}

static void test_prepared(void)
{
  struct names names= {0};
  char error[200], text[200];
  int64_t numbers[4]= {0};
  struct template *t= template_parse("UPDATE t SET a = {x=5..5} WHERE id IN "
                                     "({x}, {8..8}, {conn})", &names, error,
                                     sizeof(error));
  ok(t && t->number_count == 4, "prepared: every number is a parameter");
  template_placeholders(t, text);
  ok(!strcmp(text, "UPDATE t SET a = ? WHERE id IN (?, ?, ?)"),
     "prepared: placeholders");
  values.conn= 77;
  template_numbers(t, &values, numbers);
  ok(numbers[0] == 5 && numbers[1] == 5 && numbers[2] == 8 && numbers[3] == 77,
     "prepared: values in their order");
  template_free(t);
}

static void test_mistakes(void)
{
  static const struct { const char *text, *message; } mistakes[]=
  {
    {"SELECT {1..", "not closed"},
    {"SELECT 1}", "without an opening one"},
    {"{}", "not {low..high}"},
    {"{1}", "not {low..high}"},
    {"{1..x}", "not {low..high}"},
    {"{1..2..3}", "not {low..high}"},
    {"{ 1..2}", "not {low..high}"},
    {"{9..3}", "the range is empty"},
    {"{99999999999999999999..3}", "not {low..high}"},
    {"{who}", "unknown name"},
    {"{1a=1..2}", "not a name"},
    {"{conn=1..2}", "have their values already"},
    {"{x=}", "not {low..high}"}
  };
  for (unsigned i= 0; i < sizeof(mistakes) / sizeof(*mistakes); i++)
    ok(!strncmp(expand(mistakes[i].text), "error: ", 7) &&
       strstr(expand(mistakes[i].text), mistakes[i].message),
       "refused: %s (%s)", mistakes[i].text, expand(mistakes[i].text));
  ok(strstr(expand("SELECT {9..3}"), "character 8"), "the position is named");
}

int main(void)
{
  values.random_state= &random_state;
  test_text();
  test_numbers();
  test_distribution();
  test_names();
  test_prepared();
  test_mistakes();
  return tap_done();
}
