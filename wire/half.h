/*
  Clients that stop in the middle of something, and go on later: of a command, of the
  login, of the handshake of TLS, of reading. All return false if it went wrong; then
  the connection's error says why.
*/
#ifndef TPWIRE_HALF_H
#define TPWIRE_HALF_H

#include "batch.h"

struct half
{
  struct bytes rest;            /* what has not been written yet */
  /* How many of so many bytes come first; NULL: half of them. */
  size_t (*first)(void *who, size_t size);
  void *who;
};

void half_free(struct half *h);
/* Writes what is missing, if anything is. */
bool half_rest(struct half *h, struct connection *c);

/* Everything that is in the batch, as far as the place; the rest for later. */
bool send_part(struct connection *c, struct batch *b, size_t to);
/* A query, cut on the wire, and so in the middle of an envelope. */
bool half_query(struct half *h, struct connection *c, struct batch *b, const char *query);
/* What is missing of the query, or of the batch. */
bool half_query_rest(struct half *h, struct connection *c, struct batch *b);

/* The answer to the greeting. */
bool send_login(struct connection *c);
bool half_login(struct half *h, struct connection *c);
bool half_login_rest(struct half *h, struct connection *c);
/* The client names a plugin that its account doesn't use; the server asks for another. */
bool login_is_asked(struct connection *c);
bool login_answers(struct connection *c);

/* The request for TLS, and what the handshake begins with. */
bool half_hello(struct half *h, struct connection *c);
/* All of it. The server has answered, and waits for the client's end. */
bool hello_is_answered(struct connection *c, double seconds);
bool hello_rest(struct half *h, struct connection *c);

/* Nothing more comes, though there is more: all buffers are full. Time as of now(). */
bool buffers_are_full(struct connection *c, double until);

#endif
