/* The screen, and the keys. */
#ifndef TPTOP_SCREEN_H
#define TPTOP_SCREEN_H

#include "connection.h"

/* Returns the exit status. The connection is open already. */
int screen_run(const struct options *options, struct connection *connection);

#endif
