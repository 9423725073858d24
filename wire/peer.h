/*
  What the server's end of a connection holds, as Linux shows it: so a client sees from
  outside what the server has taken.
*/
#ifndef TPWIRE_PEER_H
#define TPWIRE_PEER_H

#include "connection.h"

/* Bytes that the server has not read yet; -1: unknown. */
long peer_unread(const struct connection *c);
/* Bytes that it has written and that are not here yet; TCP only. -1: unknown. */
long peer_unsent(const struct connection *c);

#endif
