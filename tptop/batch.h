/* Plain text, once or again and again. */
#ifndef TPTOP_BATCH_H
#define TPTOP_BATCH_H

#include "connection.h"

/* Returns the exit status. The connection is open already. */
int batch_run(const struct options *options, struct connection *connection);

#endif
