#include "watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RETRY_SECONDS 1.0
/* A query that took so long was ended by the time-out, not by the server. */
#define TIMED_OUT_AFTER 9.0
/* For an end without a long wait, if the server doesn't answer. */
#define END_SECONDS 0.5

struct watcher
{
  /* Of the thread alone. */
  struct connection *connection;
  struct reader *reader;
  bool extra_first;
  bool after_kill;              /* what came of it stays on the screen */
  unsigned reconnections;

  pthread_t thread;
  pthread_mutex_t mutex;        /* for all that follows */
  pthread_cond_t changed;
  int pipe[2];
  bool stop, ended, paused, now, connected, reconnected;
  double interval, next, busy_since;
  int64_t kill_id;              /* 0: nobody */
  unsigned kill_by, sample_of;  /* the number of a connection: its reconnections */
  struct sample *sample;        /* that nobody has taken yet */
  char place[160], why_extra[256], error[512], message[256];
};

static double clock_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static struct timespec moment(double seconds)
{
  struct timespec t= {(time_t) seconds, 0};
  t.tv_nsec= (long) ((seconds - (double) t.tv_sec) * 1e9);
  return t;
}

/* The pipe is full if nobody looks; then there is something to read already. */
static void tell(struct watcher *w)
{
  char byte= 0;
  if (write(w->pipe[1], &byte, 1) < 0 && errno != EAGAIN)
    return;
}

static void lock(struct watcher *w) { pthread_mutex_lock(&w->mutex); }
static void unlock(struct watcher *w) { pthread_mutex_unlock(&w->mutex); }

/* --- the thread ------------------------------------------------------------------ */

static void note_connection(struct watcher *w)
{
  const struct connection *c= w->connection;
  lock(w);
  w->connected= c->mysql != NULL;
  memcpy(w->place, c->place, sizeof(w->place));
  memcpy(w->why_extra, c->why_extra, sizeof(w->why_extra));
  memcpy(w->error, c->error, sizeof(w->error));
  unlock(w);
  tell(w);
}

static void say(struct watcher *w, const char *what, const char *more)
{
  lock(w);
  snprintf(w->message, sizeof(w->message), "%s%.200s", what, more);
  unlock(w);
  tell(w);
}

static bool connect_again(struct watcher *w)
{
  bool good= connection_open(w->connection, w->extra_first);
  w->extra_first= false;
  note_connection(w);
  if (good)
  {
    reader_forget(w->reader);
    w->reconnections++;
    if (!w->after_kill)
    {
      lock(w);
      w->reconnected= true;
      unlock(w);
      say(w, "connected again: ", w->connection->place);
    }
  }
  return good;
}

static void do_kill(struct watcher *w, int64_t id, unsigned by)
{
  char statement[48], text[64];
  snprintf(statement, sizeof(statement), "KILL %lld", (long long) id);
  snprintf(text, sizeof(text), "%s: ", statement);
  w->after_kill= true;
  if (!w->connection->mysql && !connect_again(w))
    return say(w, "not killed, there is no connection: ", w->connection->error);
  if (by != w->reconnections)
    return say(w, text, "not sent. tptop has connected again: choose again");
  if (connection_do(w->connection, statement))
    say(w, text, "done");
  else
    say(w, text, w->connection->error);
}

static void read_server(struct watcher *w)
{
  struct sample *sample= NULL;
  double began= clock_now();
  if (w->connection->mysql || connect_again(w))
  {
    began= clock_now();
    sample= sample_read(w->reader, w->connection);
    if (!sample)
    {
      w->extra_first= !w->connection->by_extra_way &&
                      clock_now() - began > TIMED_OUT_AFTER;
      connection_close(w->connection);
      note_connection(w);
    }
  }
  lock(w);
  w->next= sample ? began + w->interval : clock_now() + RETRY_SECONDS;
  if (sample)
  {
    sample_free(w->sample);
    w->sample= sample;
    w->sample_of= w->reconnections;
  }
  unlock(w);
  tell(w);
}

/* Until there is something to do; then what. False: the end. */
static bool wait_for_work(struct watcher *w, bool *reading, int64_t *kill_id,
                          unsigned *kill_by)
{
  bool stop;
  lock(w);
  w->busy_since= 0;
  for (;;)
  {
    *reading= w->now || (!w->paused && clock_now() >= w->next);
    *kill_id= w->kill_id;
    *kill_by= w->kill_by;
    stop= w->stop;
    if (*reading || *kill_id || stop)
      break;
    if (w->paused)
      pthread_cond_wait(&w->changed, &w->mutex);
    else
    {
      struct timespec until= moment(w->next);
      pthread_cond_timedwait(&w->changed, &w->mutex, &until);
    }
  }
  w->now= false;
  w->kill_id= 0;
  w->busy_since= clock_now();
  unlock(w);
  return !stop;
}

static void *watch(void *argument)
{
  struct watcher *w= argument;
  bool reading;
  int64_t kill_id;
  unsigned kill_by;
  mysql_thread_init();
  while (wait_for_work(w, &reading, &kill_id, &kill_by))
  {
    if (kill_id)
      do_kill(w, kill_id, kill_by);
    /* After a KILL the screen should show what came of it. */
    read_server(w);
    if (w->connection->mysql)
      w->after_kill= false;
  }
  connection_close(w->connection);
  mysql_thread_end();
  lock(w);
  w->ended= true;
  pthread_cond_broadcast(&w->changed);
  unlock(w);
  return NULL;
}

/* --- for the screen ------------------------------------------------------------------ */

static bool make_pipe(int *pipe_fds)
{
  return !pipe2(pipe_fds, O_NONBLOCK | O_CLOEXEC);
}

struct watcher *watcher_start(const struct options *options,
                              struct connection *connection)
{
  struct watcher *w= calloc(1, sizeof(*w));
  pthread_condattr_t attributes;
  if (!w || !make_pipe(w->pipe) || !(w->reader= reader_create()))
    return NULL;
  w->connection= connection;
  w->interval= options->interval;
  w->next= clock_now();
  pthread_mutex_init(&w->mutex, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&w->changed, &attributes);
  note_connection(w);
  if (pthread_create(&w->thread, NULL, watch, w))
    return NULL;
  return w;
}

bool watcher_stop(struct watcher *w)
{
  struct timespec until= moment(clock_now() + END_SECONDS);
  bool ended;
  lock(w);
  w->stop= true;
  pthread_cond_broadcast(&w->changed);
  while (!w->ended && !pthread_cond_timedwait(&w->changed, &w->mutex, &until))
    ;
  ended= w->ended;
  unlock(w);
  if (!ended)
    return false;
  pthread_join(w->thread, NULL);
  sample_free(w->sample);
  reader_destroy(w->reader);
  close(w->pipe[0]);
  close(w->pipe[1]);
  free(w);
  return true;
}

int watcher_fd(const struct watcher *w) { return w->pipe[0]; }

void watcher_take(struct watcher *w, struct watcher_news *news)
{
  char bytes[64];
  while (read(w->pipe[0], bytes, sizeof(bytes)) > 0)
    ;
  lock(w);
  news->sample= w->sample;
  news->sample_of= w->sample_of;
  w->sample= NULL;
  news->connected= w->connected;
  news->reconnected= w->reconnected;
  w->reconnected= false;
  news->silent_for= w->busy_since > 0 ? clock_now() - w->busy_since : 0;
  memcpy(news->place, w->place, sizeof(news->place));
  memcpy(news->why_extra, w->why_extra, sizeof(news->why_extra));
  memcpy(news->error, w->error, sizeof(news->error));
  memcpy(news->message, w->message, sizeof(news->message));
  w->message[0]= 0;
  unlock(w);
}

void watcher_pause(struct watcher *w, bool pause)
{
  lock(w);
  w->paused= pause;
  pthread_cond_broadcast(&w->changed);
  unlock(w);
}

void watcher_set_interval(struct watcher *w, double seconds)
{
  lock(w);
  w->next+= seconds - w->interval;
  w->interval= seconds;
  pthread_cond_broadcast(&w->changed);
  unlock(w);
}

void watcher_read_now(struct watcher *w)
{
  lock(w);
  w->now= true;
  pthread_cond_broadcast(&w->changed);
  unlock(w);
}

void watcher_kill(struct watcher *w, int64_t id, unsigned connection)
{
  lock(w);
  w->kill_id= id;
  w->kill_by= connection;
  pthread_cond_broadcast(&w->changed);
  unlock(w);
}
