/*
  A thread that reads the server, so that the screen never waits for it: a
  statement of ours may stand in the very queue that it asks for.
*/
#ifndef TPTOP_WATCHER_H
#define TPTOP_WATCHER_H

#include "connection.h"
#include "sample.h"

struct watcher;

/* What the screen has to know besides the reading itself. */
struct watcher_news
{
  struct sample *sample;        /* a new one, which is the caller's; or NULL */
  unsigned sample_of;           /* the connection that the last one came by: 0 the first */
  bool connected, reconnected;  /* the latter: since the last news */
  double silent_for;            /* s that the server takes for an answer; or 0 */
  char place[160], why_extra[256];
  char error[512];              /* why there is no connection */
  char message[256];            /* said once; empty if there is none */
};

/* The connection is open, and belongs to the thread from now on. */
struct watcher *watcher_start(const struct options *options,
                              struct connection *connection);
/*
  Waits for the thread only if it is not just waiting for the server. False if it
  still runs: then the process has to end by _exit(), or the library would be
  taken away below it.
*/
bool watcher_stop(struct watcher *watcher);

/* Readable when there are news. */
int watcher_fd(const struct watcher *watcher);
void watcher_take(struct watcher *watcher, struct watcher_news *news);

void watcher_pause(struct watcher *watcher, bool pause);
void watcher_set_interval(struct watcher *watcher, double seconds);
void watcher_read_now(struct watcher *watcher);
/*
  Sent by that connection only (a sample_of): the server behind the next one may be
  another, where the id is somebody else's. The message of the news tells what came
  of it.
*/
void watcher_kill(struct watcher *watcher, int64_t id, unsigned connection);

#endif
