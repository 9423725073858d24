#include "facts.h"

#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OLD_WAITER_US 1000000

struct list
{
  struct fact *to;
  unsigned count;
};

static void add(struct list *list, const char *name, bool alarm,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

static void add(struct list *list, const char *name, bool alarm,
                const char *format, ...)
{
  struct fact *fact= &list->to[list->count++];
  va_list args;
  fact->name= name;
  fact->alarm= alarm;
  va_start(args, format);
  vsnprintf(fact->value, sizeof(fact->value), format, args);
  va_end(args);
}

static void add_of(struct list *list, const char *name, int64_t value, int64_t limit)
{
  char a[24], b[24];
  bool full= limit > 0 && value >= limit - limit / 10;
  if (limit == UNKNOWN)
    add(list, name, false, "%s", format_count(value, a, sizeof(a)));
  else
    add(list, name, full, "%s/%s", format_count(value, a, sizeof(a)),
        format_count(limit, b, sizeof(b)));
}

static void add_gate(struct list *list, const struct sample *s)
{
  char limit[24], hot[24], held[24];
  if (s->gate_limit == 0)
    add(list, "gate", false, "no limit");
  else
    add(list, "gate", false, "%s, hot %s, waiting %s, %s",
        format_count(s->gate_limit, limit, sizeof(limit)),
        format_count(s->hot, hot, sizeof(hot)),
        format_count(s->held, held, sizeof(held)), s->gate_reason);
}

static void add_waits(struct list *list, const struct sample *s)
{
  char text[160]= "";
  size_t length= 0;
  for (unsigned i= 0; i < s->wait_count && length < sizeof(text); i++)
    length+= (size_t) snprintf(text + length, sizeof(text) - length, "%s%s %lld",
                               i ? ", " : "", s->waits[i].reason,
                               (long long) s->waits[i].waiting);
  add(list, "threads wait for", false, "%s",
      !s->has_waits ? "-" : s->wait_count ? text : "nothing");
}

unsigned facts_of(const struct model *model, struct fact *to)
{
  const struct sample *s= model->now;
  struct list list= {to, 0};
  char text[32];
  add(&list, "server", false, "%s", s->server);
  add(&list, "version", false, "%s", s->version);
  add(&list, "up", false, "%s", format_uptime(s->uptime, text, sizeof(text)));
  add_of(&list, "connections", s->connections, s->max_connections);
  add_of(&list, "running", s->running, UNKNOWN);
  add_of(&list, "pool threads", s->threads, s->max_threads);
  add(&list, "reserve", s->reserve > 0, "%s",
      format_count(s->reserve, text, sizeof(text)));
  add_gate(&list, s);
  add(&list, "oldest waiter", s->oldest_us >= OLD_WAITER_US, "%s",
      format_time(s->oldest_us, text, sizeof(text)));
  add_waits(&list, s);
  return list.count;
}

const char *holder_does(const struct holder *holder)
{
  return holder->sleeps ? "Sleep" : holder->waits ? "waits too" : holder->command;
}
