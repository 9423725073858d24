/*
  A client in its login: it says what a speech has, and tells what the server answers. For
  tplogin. What returns false went wrong, and the connection's error says why.
*/
#ifndef TPWIRE_LOGIN_H
#define TPWIRE_LOGIN_H

#include "connection.h"
#include "relay.h"
#include "speech.h"

struct client
{
  struct connection c;
  const struct speech *speech;
  struct bytes rest;            /* what it has not said yet */
  struct bytes heard;
  double since;
  bool greeted, to_be_asked;
  struct client *next;          /* of its group */
};

/* Connects, and reads nothing yet. */
bool client_open(struct client *k, const struct server *server, const struct transport *transport,
                 const struct speech *speech);
void client_free(struct client *k);

/* Says what comes first, and keeps the rest. */
bool client_begins(struct client *k);
/* Says what is missing; then its session has to work. What came of it is appended. */
bool client_goes_on(struct client *k, writer *write, struct bytes *to);
bool client_selects(struct client *k, struct bytes *to);
/* Waits until the server has hung up; what it said until then is appended. */
bool client_hears_end(struct client *k, struct bytes *to);
/* All of it, and what the server answers until it hangs up or the session works. heard is then the same each time. */
void client_talks(struct client *k, struct bytes *said);

/* Byte by byte: one is not sent before the last one was taken, as far as this can be known. */
writer write_bytes;

#endif
