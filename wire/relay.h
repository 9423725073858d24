/*
  The real client, which speaks TLS, with a relay between it and the server that holds
  back what it sends. For tplogin.
*/
#ifndef TPWIRE_RELAY_H
#define TPWIRE_RELAY_H

#include "bytes.h"

#include <stdbool.h>
#include <sys/types.h>

/* Writes to a socket, until somebody hangs up. */
typedef void writer(int fd, const uint8_t *data, size_t size);
writer write_all;

struct relay
{
  int client, server;           /* sockets */
  pid_t pid;                    /* of the client */
  int output;                   /* what it prints */
  unsigned records;             /* of TLS that come through, after its request for TLS */
  unsigned passed;
  struct bytes from_client;     /* what is held back */
  bool requested, holds, open;
};

/*
  Starts the client, with the words of its command line up to a NULL and more options, and
  takes the socket to the server. Comes back when it holds something back. NULL: it went
  well, else what went wrong.
*/
const char *relay_start(struct relay *r, int server, unsigned records, char **client, char **options,
                        double patience);
/* What is there to be passed on, for at most so long. With a writer: all, by that writer. */
void relay_pump(struct relay *r, int wait_ms, writer *everything);
/* Lets everything through until the client has come to its end. False: it does not. */
bool relay_finish(struct relay *r, writer *everything, double patience);
/* Until the server hangs up, without letting anything through. False: it does not. */
bool relay_wait(struct relay *r, double patience);
void relay_hang_up(struct relay *r);
/* What the client has printed, with a blank for all white space. It has to come to its end. */
void relay_output(struct relay *r, struct bytes *to);

#endif
