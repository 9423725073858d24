/* What tptop computes and how it writes it: percentiles, sparklines, clean text, numbers, option files. */
#include "model.h"
#include "optionfile.h"
#include "tap.h"
#include "text.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- percentiles ------------------------------------------------------------------ */

static void test_percentiles(void)
{
  /* 90 of 100 below 10 us, 9 more below 100 us, one below 1000 us. */
  const struct bucket b[]= {{0, 10, 90}, {10, 100, 9}, {100, 1000, 1}};
  ok(histogram_percentile(b, 3, 50) == 10, "the median is in the first bucket");
  ok(histogram_percentile(b, 3, 90) == 10, "the 90th percentile is its last one");
  ok(histogram_percentile(b, 3, 91) == 100, "the 91st is in the next");
  ok(histogram_percentile(b, 3, 99) == 100, "the 99th is the last of 99");
  ok(histogram_percentile(b, 3, 99.5) == 1000, "the largest is above it");
  ok(histogram_percentile(b, 3, 100) == 1000, "100 is the largest");
  ok(histogram_percentile(b, 0, 50) == UNKNOWN, "of nothing there is none");
  const struct bucket empty[]= {{0, 10, 0}, {10, 100, 0}};
  ok(histogram_percentile(empty, 2, 99) == UNKNOWN, "nor of empty buckets");
  ok(histogram_total(b, 3) == 100, "the total");
}

static void test_differences(void)
{
  const struct bucket before[]= {{0, 10, 5}, {100, 1000, 2}};
  const struct bucket now[]= {{0, 10, 5}, {10, 100, 3}, {100, 1000, 6}};
  struct bucket added[4];
  unsigned count= histogram_difference(before, 2, now, 3, added);
  ok(count == 2, "a bucket to which nothing was added is left out");
  ok(added[0].from == 10 && added[0].count == 3, "a new bucket counts as a whole");
  ok(added[1].from == 100 && added[1].count == 4, "an old one by what was added");
  ok(histogram_difference(before, 2, before, 2, added) == 0, "nothing between");
  ok(histogram_difference(NULL, 0, now, 3, added) == 3 &&
     histogram_total(added, 3) == 14, "the first reading is all of it");

  const struct bucket fewer[]= {{0, 10, 1}, {100, 1000, 2}};
  count= histogram_difference(before, 2, fewer, 2, added);
  ok(count == 2 && histogram_total(added, count) == 3,
     "a count that got smaller: it began anew");
  const struct bucket gone[]= {{100, 1000, 7}};
  count= histogram_difference(before, 2, gone, 1, added);
  ok(count == 1 && added[0].count == 7, "a bucket that is gone: it began anew");
  count= histogram_difference(before, 2, now, 1, added);
  ok(count == 1 && added[0].count == 5, "the last bucket is gone: it began anew");
  ok(histogram_difference(before, 2, NULL, 0, added) == 0, "all are gone: nothing");
}

/* --- the course --------------------------------------------------------------------- */

static struct sample *reading(int64_t uptime, int64_t queue, int64_t fast, int64_t slow)
{
  struct sample *s= calloc(1, sizeof(*s));
  s->at= (double) uptime;
  s->uptime= uptime;
  s->sum.queue= queue;
  s->has_histogram= true;
  s->buckets= calloc(2, sizeof(*s->buckets));
  s->bucket_count= 2;
  s->buckets[0]= (struct bucket) {0, 10, fast};
  s->buckets[1]= (struct bucket) {1000, 2000, slow};
  return s;
}

static void test_model(void)
{
  struct model m;
  model_init(&m);
  model_add(&m, reading(100, 7, 1000, 1));
  ok(m.p99 == UNKNOWN && m.total_p99 == 10, "the first reading: only since the start");
  ok(m.seconds == 0 && m.queue_history[0] == 7 && m.p99_history[0] == UNKNOWN,
     "its course");
  model_add(&m, reading(102, 3, 1010, 91));
  ok(m.taken == 100 && m.p50 == 2000 && m.p99 == 2000, "the second: what was added");
  ok(m.total_p50 == 10, "since the start it is still fast");
  ok(m.seconds == 2 && m.count == 2 && m.queue_history[1] == 3 &&
     m.p50_history[1] == 2000, "and its course");
  model_add(&m, reading(5, 0, 2000, 100));
  ok(m.restarted && m.taken == 2100, "a server that was started anew: all of it is new");
  for (int i= 0; i < HISTORY + 5; i++)
    model_add(&m, reading(10 + i, 1000 + i, 2000, 100));
  ok(m.count == HISTORY && m.queue_history[HISTORY - 1] == 1000 + HISTORY + 4 &&
     m.queue_history[0] == 1005, "the course keeps the newest");
  ok(m.taken == 0 && m.p99 == UNKNOWN, "nothing was taken: no percentile");
  model_clear(&m);
  ok(add_known(UNKNOWN, UNKNOWN) == UNKNOWN && add_known(UNKNOWN, 3) == 3 &&
     add_known(2, 3) == 5, "sums with unknown numbers");
}

static void test_order(void)
{
  struct group g[]= {{.id= 0, .queue= 1, .running= 3}, {.id= 1, .queue= 5, .running= 3},
                     {.id= 2, .queue= 2, .running= 9}};
  sort_groups(g, 3, GROUPS_BY_QUEUE, false);
  ok(g[0].id == 1 && g[1].id == 2 && g[2].id == 0, "groups by queue, the longest first");
  sort_groups(g, 3, GROUPS_BY_RUNNING, true);
  ok(g[0].id == 1 && g[1].id == 0 && g[2].id == 2, "reversed");
  struct waiter w[]= {{.id= 9, .time_us= 5, .user= "b"}, {.id= 3, .time_us= 8, .user= "b"},
                      {.id= 5, .time_us= 6, .user= "a"}};
  sort_waiters(w, 3, WAITERS_BY_TIME, false);
  ok(w[0].id == 3 && w[2].id == 9, "waiters by time, the oldest first");
  sort_waiters(w, 3, WAITERS_BY_USER, false);
  ok(w[0].id == 5 && w[1].id == 3 && w[2].id == 9, "by user, then by time");
  struct holder h[]= {{.id= 1, .waiters= 9, .waits= true}, {.id= 2, .waiters= 2},
                      {.id= 3, .waiters= 4, .age_us= 7}};
  sort_holders(h, 3, HOLDERS_BY_WAITERS, false);
  ok(h[0].id == 3 && h[1].id == 2 && h[2].id == 1, "who waits for others comes last");
  sort_holders(h, 3, HOLDERS_BY_AGE, false);
  ok(h[0].id == 3, "holders by age");
}

/* --- text ------------------------------------------------------------------------------- */

static const char *cleaned(const char *text, size_t size)
{
  static char to[256];
  memset(to, '~', sizeof(to));
  text_clean(to, size, text, text ? strlen(text) : 0);
  return to;
}

static void test_clean(void)
{
  text_use_utf8(false);
  ok(!strcmp(cleaned(NULL, 9), "-"), "NULL");
  ok(!strcmp(cleaned("", 9), ""), "empty");
  ok(!strcmp(cleaned("SELECT\n\t  1 \n", 99), "SELECT 1"), "blanks in a row are one");
  ok(!strcmp(cleaned("a\033[2Jb\007\177", 99), "a?[2Jb??"), "no commands for the terminal");
  ok(!strcmp(cleaned("gr\303\274n", 99), "gr?n"), "ASCII: one ? for a character");
  ok(!strcmp(cleaned("abcdef", 4), "abc"), "cut to its room");
  text_use_utf8(true);
  ok(!strcmp(cleaned("gr\303\274n", 99), "gr\303\274n"), "UTF-8 stays");
  ok(!strcmp(cleaned("gr\303\274n", 4), "gr"), "no half characters");
  ok(!strcmp(cleaned("\302\2332J", 99), "?2J"), "an 8-bit control character");
  ok(!strcmp(cleaned("\300\257\355\240\200\377\303", 99), "???????"), "what is no UTF-8");
  ok(!strcmp(cleaned("a\342\200\256b", 99), "a?b"), "the direction of writing is not turned");
  ok(!strcmp(cleaned("a\342\200\213b", 99), "a?b"), "nothing invisible");
  char zero[8];
  text_clean(zero, sizeof(zero), "a\0b", 3);
  ok(!strcmp(zero, "a?b"), "a zero byte in the middle");

  ok(text_width("gr\303\274n") == 4, "width, not bytes");
  ok(text_width("\346\227\245\346\234\254") == 4, "wide characters take two columns");
  ok(text_fits("\346\227\245\346\234\254", 3) == 3, "and are not cut in half");
  ok(text_fits("abc", 2) == 2 && text_fits("abc", 9) == 3, "what fits");
}

static void test_numbers(void)
{
  int64_t n= 7;
  double s= 7;
  ok(parse_number("42", &n) && n == 42, "a number");
  ok(parse_number("-3", &n) && n == -3, "a negative one");
  n= 7;
  ok(!parse_number(NULL, &n) && !parse_number("", &n) && !parse_number("4x", &n) &&
     !parse_number(" 4", &n) && !parse_number("4.5", &n) && !parse_number("-", &n) &&
     !parse_number("99999999999999999999", &n) && n == 7, "what is none");
  ok(parse_seconds("0.5", 0.1, 10, &s) && s == 0.5, "seconds");
  s= 7;
  ok(!parse_seconds("nan", 0.1, 10, &s) && !parse_seconds("inf", 0.1, 10, &s) &&
     !parse_seconds("-1", 0.1, 10, &s) && !parse_seconds("0x2", 0.1, 10, &s) &&
     !parse_seconds("", 0.1, 10, &s) && !parse_seconds("11", 0.1, 10, &s) &&
     !parse_seconds("0", 0.1, 10, &s) && !parse_seconds("1.2.3", 0.1, 10, &s) &&
     !parse_seconds(NULL, 0.1, 10, &s) && !parse_seconds(".", 0.1, 10, &s) && s == 7,
     "what are none");
}

static void test_formats(void)
{
  char t[32];
#define IS(call, text) ok(!strcmp(call, text), "%s", text)
  IS(format_count(UNKNOWN, t, sizeof(t)), "-");
  IS(format_count(0, t, sizeof(t)), "0");
  IS(format_count(9999, t, sizeof(t)), "9999");
  IS(format_count(12345, t, sizeof(t)), "12.3k");
  IS(format_count(999999, t, sizeof(t)), "1.0M");
  IS(format_count(250000000, t, sizeof(t)), "250M");
  IS(format_count(INT64_MAX, t, sizeof(t)), "9.2E");
  IS(format_id(1234567, t, sizeof(t)), "1234567");
  IS(format_time(UNKNOWN, t, sizeof(t)), "-");
  IS(format_time(0, t, sizeof(t)), "0 us");
  IS(format_time(999, t, sizeof(t)), "999 us");
  IS(format_time(1000, t, sizeof(t)), "1.00 ms");
  IS(format_time(45678, t, sizeof(t)), "45.7 ms");
  IS(format_time(999400, t, sizeof(t)), "999 ms");
  IS(format_time(999999, t, sizeof(t)), "1.00 s");
  IS(format_time(27040000, t, sizeof(t)), "27.0 s");
  IS(format_time(300000000, t, sizeof(t)), "300 s");
  IS(format_time(7200000000, t, sizeof(t)), "02:00:00");
  IS(format_age(UNKNOWN, t, sizeof(t)), "-");
  IS(format_age(12900000, t, sizeof(t)), "12 s");
  IS(format_age(7200000000, t, sizeof(t)), "02:00:00");
  IS(format_uptime(UNKNOWN, t, sizeof(t)), "-");
  IS(format_uptime(59, t, sizeof(t)), "00:00:59");
  IS(format_uptime(3 * 86400 + 4 * 3600 + 5 * 60, t, sizeof(t)), "3 d 04:05");
}

static void test_pictures(void)
{
  const int64_t values[]= {0, 1, 50, 100, UNKNOWN, 0};
  char t[64];
  text_use_utf8(false);
  sparkline(t, sizeof(t), values, 6, 10);
  ok(!strcmp(t, "_.=# _"), "a sparkline: nothing, a little, half, the most, unknown");
  sparkline(t, sizeof(t), values, 6, 2);
  ok(!strcmp(t, " _"), "only the newest fit");
  sparkline(t, 3, values, 6, 10);
  ok(!strcmp(t, "_."), "no more than its room");
  sparkline(t, sizeof(t), values, 0, 10);
  ok(!*t, "none");
  const int64_t zeros[]= {0, 0};
  sparkline(t, sizeof(t), zeros, 2, 10);
  ok(!strcmp(t, "__"), "nothing but zeros");
  text_use_utf8(true);
  sparkline(t, sizeof(t), values, 4, 10);
  ok(!strcmp(t, "▁▂▅█") && text_width(t) == 4, "in UTF-8: four columns");

  unsigned columns[4];
  const int64_t parts[]= {3, 2, 0, 5};
  ok(bar_parts(parts, 4, 10, 20, columns) == 10 && columns[0] == 3 && columns[1] == 2 &&
     columns[2] == 0 && columns[3] == 5, "one column for each, if they fit");
  const int64_t many[]= {300, 1, UNKNOWN, 600};
  ok(bar_parts(many, 4, 901, 30, columns) <= 30 && columns[0] == 10 && columns[1] == 1 &&
     columns[2] == 0 && columns[3] == 19, "to scale, but one at least");
  const int64_t one_of_many[]= {1, 150, 1, 1};
  ok(bar_parts(one_of_many, 4, 153, 30, columns) == 30 && columns[0] == 1 && columns[1] == 27 &&
     columns[2] == 1 && columns[3] == 1, "a small part is not pushed out by a large one");
  ok(bar_parts(many, 4, 901, 0, columns) == 0, "no room");
  ok(bar_parts(many, 4, 1, 5, columns) == 5, "never wider than its room");
}

/* --- option files --------------------------------------------------------------------------- */

static char found[1024];

static bool note(void *context, const char *group, const char *name, const char *value,
                 const char *where)
{
  size_t length= strlen(found);
  (void) context;
  (void) where;
  snprintf(found + length, sizeof(found) - length, "%s.%s=%s;", group, name,
           value ? value : "NULL");
  return strcmp(name, "stop-here") != 0;
}

static void test_option_files(void)
{
  static const char *const groups[]= {"client", "tptop", NULL};
  struct optionfile o= {groups, note, NULL, ""};
  char dir[]= "/tmp/tptop-t-XXXXXX", path[64], included[64];
  if (!mkdtemp(dir))
  {
    ok(0, "a directory for the test");
    return;
  }
  snprintf(path, sizeof(path), "%s/my.cnf", dir);
  snprintf(included, sizeof(included), "%s/a.cnf", dir);
  FILE *file= fopen(included, "w");
  fputs("[client]\nport=1\n", file);
  fclose(file);
  file= fopen(path, "w");
  fprintf(file, "host=ignored\n[mysqld]\nport=3\n[client]\n# a comment\n; another\n"
          "extra_port = 3307 # a comment\n  password='a # b\\'c'\nssl\n empty=\n"
          "!includedir %s\n", dir);
  fputs("[tptop]\n", file);
  fclose(file);
  /* It includes itself, too, which ends somewhere. */
  ok(optionfile_read(&o, path, true), "is read");
  static const char wanted[]= "client.extra-port=3307;client.password=a # b'c;"
                              "client.ssl=NULL;client.empty=;client.port=1;";
  ok(!strncmp(found, wanted, sizeof(wanted) - 1), "groups, comments, quotes, includes");
  if (strncmp(found, wanted, sizeof(wanted) - 1))
    printf("# %s\n", found);
  found[0]= 0;
  file= fopen(path, "w");
  fputs("[tptop]\nstop-here\nport=1\n", file);
  fclose(file);
  ok(!optionfile_read(&o, path, true) && !strcmp(found, "tptop.stop-here=NULL;"),
     "it ends where it is told to");
  unlink(path);
  ok(optionfile_read(&o, path, false), "a file that need not be there");
  ok(!optionfile_read(&o, path, true) && strstr(o.error, "No such file"),
     "one that must be");
  unlink(included);
  rmdir(dir);
}

int main(void)
{
  if (!setlocale(LC_CTYPE, "C.UTF-8") && !setlocale(LC_CTYPE, "en_US.UTF-8"))
    printf("# no UTF-8 locale here\n");
  test_percentiles();
  test_differences();
  test_model();
  test_order();
  test_clean();
  test_numbers();
  test_formats();
  test_pictures();
  test_option_files();
  return tap_done();
}
