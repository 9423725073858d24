#include "batch.h"

#include "facts.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STATEMENT_COLUMNS 120

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static void sleep_until(double when)
{
  double left= when - now();
  struct timespec t= {(time_t) left, 0};
  if (left <= 0)
    return;
  t.tv_nsec= (long) ((left - (double) t.tv_sec) * 1e9);
  while (nanosleep(&t, &t) && errno == EINTR)
    ;
}

static void print_time(void)
{
  char text[64];
  time_t seconds= time(NULL);
  struct tm parts;
  strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", localtime_r(&seconds, &parts));
  printf("time: %s\n", text);
}

static void print_facts(const struct model *m, const struct connection *c)
{
  struct fact facts[MOST_FACTS];
  unsigned count= facts_of(m, facts);
  for (unsigned i= 0; i < count; i++)
    printf("%s: %s\n", facts[i].name, facts[i].value);
  if (c->why_extra[0])
    printf("connected by the extra way: %s (%s)\n", c->place, c->why_extra);
  if (m->now->missing[0])
    printf("note: %s\n", m->now->missing);
  if (m->restarted)
    printf("note: the server has been started anew\n");
}

static void print_queue(const struct model *m)
{
  char p50[24], p99[24], length[24], taken[24];
  printf("queue length: %s\n",
         format_count(m->now->sum.queue, length, sizeof(length)));
  if (!m->now->has_histogram)
    printf("queue time: -\n");
  else if (!m->before)
    printf("queue time: p50 %s, p99 %s (since the server's start)\n",
           format_time(m->total_p50, p50, sizeof(p50)),
           format_time(m->total_p99, p99, sizeof(p99)));
  else
    printf("queue time: p50 %s, p99 %s (%s statements in %.1f s)\n",
           format_time(m->p50, p50, sizeof(p50)),
           format_time(m->p99, p99, sizeof(p99)),
           format_count(m->taken, taken, sizeof(taken)), m->seconds);
}

static void print_group(const char *name, const struct group *g)
{
  const int64_t values[]= {g->connections, g->threads, g->running, g->waiting,
                           g->long_ones, g->idle, g->queue};
  char text[24];
  printf("%7s", name);
  for (unsigned i= 0; i < sizeof(values) / sizeof(*values); i++)
    printf(" %11s", format_count(values[i], text, sizeof(text)));
  putchar('\n');
}

static void print_groups(const struct sample *s)
{
  char name[24];
  printf("groups: %u\n", s->group_count);
  if (!s->group_count)
    return;
  printf("%7s %11s %11s %11s %11s %11s %11s %11s\n", "GROUP", "CONNECTIONS",
         "THREADS", "RUNNING", "WAITING", "LONG", "IDLE", "QUEUE");
  for (unsigned i= 0; i < s->group_count; i++)
    print_group(format_count(s->groups[i].id, name, sizeof(name)), &s->groups[i]);
  print_group("all", &s->sum);
}

static int shown(const char *text)
{
  return (int) text_fits(text, STATEMENT_COLUMNS);
}

static void print_waiters(const struct sample *s)
{
  char time[24], id[24];
  printf("oldest waiters: %u\n", s->waiter_count);
  if (s->no_waiters[0])
    printf("  %s\n", s->no_waiters);
  if (s->waiter_count)
    printf("%10s %10s %-16s %-18s %s\n", "TIME", "ID", "USER", "HELD BY", "STATEMENT");
  for (unsigned i= 0; i < s->waiter_count; i++)
  {
    const struct waiter *w= &s->waiters[i];
    printf("%10s %10s %-16s %-18s %.*s\n", format_time(w->time_us, time, sizeof(time)),
           format_id(w->id, id, sizeof(id)), w->user, w->state,
           shown(w->statement), w->statement);
  }
}

static void print_holders(const struct sample *s)
{
  char age[24], id[24], waiters[24];
  printf("holders of locks that others wait for: %u\n", s->holder_count);
  if (s->no_holders[0])
    printf("  %s\n", s->no_holders);
  if (s->holder_count)
    printf("%10s %10s %10s %-10s %-16s %s\n", "ID", "WAITERS", "AGE", "DOES", "USER",
           "STATEMENT");
  for (unsigned i= 0; i < s->holder_count; i++)
  {
    const struct holder *h= &s->holders[i];
    printf("%10s %10s %10s %-10s %-16s %.*s\n", format_id(h->id, id, sizeof(id)),
           format_count(h->waiters, waiters, sizeof(waiters)),
           format_age(h->age_us, age, sizeof(age)), holder_does(h), h->user,
           shown(h->statement), h->statement);
  }
}

static bool print_all(struct model *m, const struct connection *c)
{
  sort_groups(m->now->groups, m->now->group_count, GROUPS_BY_ID, false);
  sort_holders(m->now->holders, m->now->holder_count, HOLDERS_BY_WAITERS, false);
  print_time();
  print_facts(m, c);
  print_queue(m);
  print_groups(m->now);
  print_waiters(m->now);
  print_holders(m->now);
  putchar('\n');
  return !fflush(stdout);
}

/* A reading, after a new connection if the old one is lost. */
static struct sample *read_again(struct reader *reader, struct connection *c)
{
  struct sample *sample= NULL;
  bool was_open= c->mysql != NULL;
  if (was_open && (sample= sample_read(reader, c)))
    return sample;
  if (was_open)
    fprintf(stderr, "tptop: lost the connection: %s\n", c->error);
  if (!connection_open(c, false))
  {
    fprintf(stderr, "tptop: cannot connect to %s: %s\n", c->place, c->error);
    return NULL;
  }
  fprintf(stderr, "tptop: connected again to %s\n", c->place);
  reader_forget(reader);
  if (!(sample= sample_read(reader, c)))
    fprintf(stderr, "tptop: no answer from %s: %s\n", c->place, c->error);
  return sample;
}

int batch_run(const struct options *options, struct connection *connection)
{
  struct model model;
  struct reader *reader= reader_create();
  int status= EXIT_WELL;
  double next= now();
  if (!reader)
    return EXIT_FAILED;
  model_init(&model);
  for (int64_t i= 0; !options->count || i < options->count; i++)
  {
    if (i)
      sleep_until(next+= options->interval);
    struct sample *sample= read_again(reader, connection);
    if (!sample)
    {
      status= EXIT_FAILED;
      continue;
    }
    model_add(&model, sample);
    if (!print_all(&model, connection))
    {
      status= EXIT_FAILED;
      break;
    }
  }
  model_clear(&model);
  reader_destroy(reader);
  return status;
}
