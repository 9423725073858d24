/* The process list, as one connection reads it for all victims. */
#include "victim.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SHOWN_MAX 4000

struct line
{
  uint32_t id;
  unsigned seen;                /* bits */
};

static struct
{
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  struct line lines[SHOWN_MAX];
  unsigned count;
  double asked;                 /* when; it may be older than what it shows, never newer */
} census= {.mutex= PTHREAD_MUTEX_INITIALIZER, .changed= PTHREAD_COND_INITIALIZER};

static struct line line_of(MYSQL_ROW row)
{
  struct line l= {(uint32_t) strtoul(row[0], NULL, 10), 1u << THERE};
  const char *command= row[1] ? row[1] : "", *state= row[2] ? row[2] : "";
  if (!strcmp(command, "Sleep"))
    l.seen|= 1u << SLEEPING;
  /* One that waits in the pool's queue is shown as well, and does not run */
  if (!strcmp(command, "Query") && strncmp(state, "Waiting in thread pool", 22))
    l.seen|= 1u << IN_QUERY;
  if (!strcmp(state, "User sleep"))
    l.seen|= 1u << IN_SLEEP;
  if (!strcmp(state, "User lock"))
    l.seen|= 1u << IN_USER_LOCK;
  if (!strcmp(state, "Waiting for table metadata lock"))
    l.seen|= 1u << IN_METADATA_LOCK;
  return l;
}

static void take_census(struct worker *w)
{
  double asked= now();
  begin_call(w);
  bool failed= mysql_query(w->mysql, "SELECT id, command, state FROM information_schema.processlist");
  MYSQL_RES *result= failed ? NULL : mysql_store_result(w->mysql);
  if (end_call(w, !result) != DONE)
    return;
  MYSQL_ROW row;
  pthread_mutex_lock(&census.mutex);
  census.count= 0;
  while (census.count < SHOWN_MAX && (row= mysql_fetch_row(result)))
    census.lines[census.count++]= line_of(row);
  census.asked= asked;
  pthread_cond_broadcast(&census.changed);
  pthread_mutex_unlock(&census.mutex);
  mysql_free_result(result);
}

/* Until nobody needs it any more: it is the last of the threads that ends. */
void *census_main(void *worker)
{
  struct worker *w= worker;
  atomic_store(&w->doing, "census");
  while (!atomic_load(&stopping))
  {
    if (w->mysql || session_open(w, BY_EXTRA_PORT, ADMIN_USER, "control"))
      take_census(w);
    usleep(10000);
  }
  session_close(w);
  return NULL;
}

static bool is_so(uint32_t id, enum seen what)
{
  for (unsigned i= 0; i < census.count; i++)
    if (census.lines[i].id == id)
      return what != GONE && (census.lines[i].seen & (1u << what));
  return what == GONE;
}

bool census_wait(uint32_t id, enum seen what, double seconds)
{
  double from= now();
  bool good= false;
  pthread_mutex_lock(&census.mutex);
  while (!(good= census.asked >= from && is_so(id, what)) && now() < from + seconds &&
         !atomic_load(&stopping))
  {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_cond_timedwait(&census.changed, &census.mutex, &until);
  }
  pthread_mutex_unlock(&census.mutex);
  return good;
}
