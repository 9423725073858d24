/* The connection to the server, and the extra way in if the server is full. */
#ifndef TPTOP_CONNECTION_H
#define TPTOP_CONNECTION_H

#include "options.h"

#include <mysql.h>

struct connection
{
  const struct options *options;
  MYSQL *mysql;                 /* NULL: there is none */
  int64_t learned_port;         /* extra_port, as the server said; or 0 */
  bool by_extra_way;
  char place[160];              /* "localhost", "10.0.0.5 port 3306" */
  char why_extra[256];          /* what the main way said; empty: not needed */
  char error[512];
  unsigned error_code;
};

void connection_init(struct connection *connection, const struct options *options);

/*
  The main way first, then the extra way, if the server is full or doesn't
  answer in time. "extra_first": it was the main way that was lost by a
  time-out, so it isn't tried again if there is another.
*/
bool connection_open(struct connection *connection, bool extra_first);
void connection_close(struct connection *connection);
/* Whether there is a way besides the main one. */
bool connection_has_extra_way(const struct connection *connection);

/*
  The result, or NULL. With connection->mysql still there, only this query
  failed; else the connection is lost and closed. The error says why.
*/
MYSQL_RES *connection_query(struct connection *connection, const char *query);
/* The same for a statement without a result. */
bool connection_do(struct connection *connection, const char *statement);

#endif
