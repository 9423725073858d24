/* Scenario files and quantities: what is understood, and what is refused. */
#include "tap.h"
#include "units.h"
#include "workload.h"

#include <stdlib.h>
#include <string.h>

static void test_units(void)
{
  int64_t ns= -1;
  double rate= -1;
  uint64_t count;
  bool flag;
  char text[40];
  ok(parse_duration("20ms", &ns) && ns == 20 * NS_PER_MS, "20ms");
  ok(parse_duration("1.5s", &ns) && ns == 1500 * NS_PER_MS, "1.5s");
  ok(parse_duration("300 us", &ns) && ns == 300 * NS_PER_US, "300 us");
  ok(parse_duration("2min", &ns) && ns == 120 * NS_PER_S, "2min");
  ok(parse_duration("0", &ns) && ns == 0, "0");
  ok(!parse_duration("20", &ns), "a time needs a unit");
  ok(!parse_duration("-1s", &ns) && !parse_duration("inf", &ns) &&
     !parse_duration("nan", &ns) && !parse_duration("0x1s", &ns) &&
     !parse_duration("", &ns) && !parse_duration("1e30s", &ns),
     "not a time: -1s, inf, nan, 0x1s, nothing, 1e30s");
  ok(parse_rate("200/s", &rate) && rate == 200, "200/s");
  ok(!parse_rate("0/s", &rate) && !parse_rate("200", &rate) &&
     !parse_rate("2000000000/s", &rate), "not a rate");
  ok(parse_byte_rate("10KB/s", &rate) && rate == 10000, "10KB/s");
  ok(!parse_byte_rate("10/s", &rate), "not a rate of bytes");
  ok(parse_count("8192", 10000, &count) && count == 8192, "8192");
  ok(!parse_count("10001", 10000, &count) && !parse_count("-1", 10000, &count) &&
     !parse_count("1x", 10000, &count) && !parse_count("", 10000, &count),
     "not a count");
  ok(parse_yes_no("yes", &flag) && flag && parse_yes_no("no", &flag) && !flag &&
     !parse_yes_no("true", &flag), "yes and no");
  ok(!strcmp(format_duration(7310000, text, sizeof(text)), "7.31 ms"),
     "7.31 ms");
  ok(!strcmp(format_duration(412345, text, sizeof(text)), "412 us"), "412 us");
  ok(!strcmp(format_duration(9.52e9, text, sizeof(text)), "9.52 s"), "9.52 s");
  ok(!strcmp(format_amount(1234567, text, sizeof(text)), "1,234,567"),
     "1,234,567");
  ok(!strcmp(format_amount(999, text, sizeof(text)), "999"), "999");
  ok(!strcmp(format_amount(4.25, text, sizeof(text)), "4.2"), "4.2");
}

static const char good[]=
  "# A comment\n"
  "title = Something\n"
  "shows = one\n"
  "shows = two = 2\n"
  "let rows = 500\n"
  "\n"
  "[short]\n"
  "  connections = 32\n"
  "think = exponential 5ms\n"
  "statement = SELECT {1..$rows} # not a comment\n"
  "statement = SELECT '$$'\n"
  "[long-one]\r\n"
  "connections = $point\n"
  "may_be_empty = yes\n"
  "background = yes\n"
  "rate = 20/s\n"
  "arrivals = even\n"
  "protocol = prepared\n"
  "group = 1 of 4\n"
  "port = 3307\n"
  "statement = SELECT 1\n";

static void test_good(void)
{
  struct workload w= {0};
  ok(workload_set(&w, "point=0"), "a setting");
  ok(workload_parse(&w, "good", good) && workload_check(&w), "a good file %s",
     w.error);
  ok(w.class_count == 2, "two classes");
  struct class *c= &w.classes[0];
  ok(!strcmp(c->name, "short") && c->connections == 32 && c->think.exponential &&
     c->think.ns == 5 * NS_PER_MS && c->statement_count == 2, "the first class");
  ok(c->statements[0]->parts[1].high == 500, "$rows is replaced");
  ok(!strncmp(c->statements[1]->parts[0].text, "SELECT '$'", 10) &&
     c->statements[1]->parts[0].length == 10, "$$ is a dollar");
  c= &w.classes[1];
  ok(!strcmp(c->name, "long-one") && c->connections == 0 && c->background &&
     c->rate == 20 && c->even_arrivals && c->prepared && c->group == 1 &&
     c->group_count == 4 && c->port == 3307, "the second class");
  ok(!strcmp(workload_head(&w, "title"), "Something"), "the head");
  ok(!strcmp(workload_head(&w, "shows"), "one"), "the first of two values");
  ok(!workload_head(&w, "axis"), "a key that is not there");
  char *names[]= {"long-one"};
  ok(workload_select(&w, names, 1) && w.class_count == 1 &&
     !strcmp(w.classes[0].name, "long-one"), "only one of the classes");
  ok(!workload_check(&w) && strstr(w.error, "no connection at all"),
     "all classes empty: %s", w.error);
  workload_free(&w);

  ok(workload_set(&w, "point=8") && workload_set(&w, "rows=9") &&
     workload_parse(&w, "good", good) &&
     w.classes[0].statements[0]->parts[1].high == 9,
     "--set wins over the file's let");
  workload_free(&w);

  w.head_only= true;
  ok(workload_parse(&w, "good", good) && w.class_count == 0 &&
     workload_head(&w, "title"), "the head alone needs no settings");
  workload_free(&w);
}

static void test_mistakes(void)
{
  static const struct { const char *text, *message; } mistakes[]=
  {
    {"", "no class"},
    {"nonsense\n", "f:1: not 'key = value'"},
    {"colour = red\n", "f:1: unknown key 'colour'"},
    {"[a]\nconnections = 5\n", "has no statement"},
    {"[a]\nstatement = SELECT 1\n", "has no connections"},
    {"[a]\nconnections = 0\nstatement = SELECT 1\n", "has no connections"},
    {"[a]\nconnections = many\n", "f:2: connections: 'many' is not"},
    {"[a]\nconnections = -4\n", "f:2: connections: '-4' is not"},
    {"[a]\nconnections =\n", "f:2: connections has no value"},
    {"[a]\nconnexions = 4\n", "f:2: unknown key 'connexions'"},
    {"[a]\nthink = 5\n", "f:2: think: '5' is not a time"},
    {"[a]\ntls = maybe\n", "f:2: tls: 'maybe' is not yes or no"},
    {"[a]\ngroup = 2 of 2\n", "f:2: group"},
    {"[a]\nport = 0\n", "f:2: port"},
    {"[a]\nstatement = SELECT {1..\n", "f:2: statement: a brace is not closed"},
    {"[a]\nconnections = $n\n", "f:2: $n has no value"},
    {"[a\n", "not [name]"},
    {"[a b]\n", "no name for a class"},
    {"[a]\nconnections = 1\nstatement = x\n[a]\n", "f:4: class [a] exists already"},
    {"[a]\nconnections = 1\nsilent = yes\nstatement = SELECT 1\n",
     "cannot have statements"},
    {"[a]\nconnections = 1\nsilent = yes\nidle = yes\n", "only one of"},
    {"[a]\nconnections = 1\nbinlog_dump = yes\ntls = yes\n", "without tls"},
    {"[a]\nconnections = 1\ntls = yes\nreconnect = yes\nstatement = x\n",
     "both tls and reconnect"},
    {"[a]\nconnections = 1\nrate = 5/s\nthink = 1s\nstatement = x\n",
     "both rate"},
    {"[a]\nconnections = 1\nread_rate = 5KB/s\nprotocol = prepared\n"
     "statement = x\n", "only the text protocol"}
  };
  for (unsigned i= 0; i < sizeof(mistakes) / sizeof(*mistakes); i++)
  {
    struct workload w= {0};
    bool accepted= workload_parse(&w, "f", mistakes[i].text) &&
                   workload_check(&w);
    ok(!accepted && strstr(w.error, mistakes[i].message), "refused: %s",
       w.error);
    workload_free(&w);
  }
  struct workload w= {0};
  ok(!workload_set(&w, "novalue") && !workload_set(&w, "=x") &&
     !workload_set(&w, "a b=x"), "not a setting");
  ok(!workload_read(&w, "/nonexistent/file") && strstr(w.error, "No such file"),
     "a file that is not there: %s", w.error);
  ok(workload_parse(&w, "f", "[a]\nconnections = 1\nstatement = x\n"), "a class");
  char *names[]= {"b"};
  ok(!workload_select(&w, names, 1) && strstr(w.error, "unknown class 'b'") &&
     strstr(w.error, " a"), "an unknown class: %s", w.error);
  workload_free(&w);
}

int main(void)
{
  test_units();
  test_good();
  test_mistakes();
  return tap_done();
}
