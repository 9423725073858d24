/*
  A connection that speaks the protocol itself, and so decides what goes into
  one write, one TLS record, one compressed packet. It never waits for ever:
  each thing that it waits for has to come before a deadline.
*/
#ifndef TPWIRE_CONNECTION_H
#define TPWIRE_CONNECTION_H

#include "bytes.h"

#include <openssl/ssl.h>
#include <stdbool.h>

/* The largest payload of a packet; a longer one goes on in the next packet. */
#define PACKET_MAX 0xffffff
#define PACKET_HEADER 4

struct server
{
  const char *socket;           /* of the Unix domain */
  unsigned port;
  const char *from;             /* the address that the client comes from; NULL: any */
  const char *user, *password, *database;
  const char *plugin;           /* that the client names; NULL: the right one */
  uint32_t more_capabilities;
  SSL_CTX *tls;
  double seconds;               /* to wait for anything */
  bool patient;                 /* these don't become less */
};

struct transport
{
  const char *name;
  bool unix_socket, tls, compress;
};

struct connection
{
  const struct server *server;
  const struct transport *transport;
  int fd;
  SSL *ssl;
  BIO *from_wire, *to_wire;
  bool compress;                /* from the end of the login on */
  uint32_t id;                  /* the server's number of it */
  uint8_t scramble[20];         /* of the greeting */
  uint8_t sequence;             /* of the next packet of the login */
  struct bytes received;        /* decrypted, still compressed */
  struct bytes in;              /* packets */
  size_t taken;                 /* of them */
  struct bytes packet;          /* the payload of the last one that was read */
  struct bytes *heard;          /* everything that came, as on the wire; NULL: not kept */
  double deadline, seconds;     /* so long after what was sent last */
  bool closed;                  /* by the server */
  bool reset;                   /* not with an orderly end */
  char error[256];              /* empty: it works */
};

double now(void);

/* From now on, server->seconds for what comes next; less once too many passed. */
void connection_set_deadline(struct connection *c);

/*
  All of these return false if it went wrong; then the error says why, and the
  connection can only be closed.
*/

/* Connects, and reads nothing. */
bool connection_connect(struct connection *c, const struct server *server,
                        const struct transport *transport);
/* The packet that was read is a greeting: takes what is in it. */
bool connection_take_greeting(struct connection *c);
/* Connects, reads the greeting. */
bool connection_meet(struct connection *c, const struct server *server,
                     const struct transport *transport);
/* Asks for TLS; then what the handshake begins with; and all that is missing of it. */
bool connection_request_tls(struct connection *c);
bool connection_hello_into(struct connection *c, struct bytes *out);
bool connection_finish_tls(struct connection *c);
/* All of that. */
bool connection_greet(struct connection *c, const struct server *server,
                      const struct transport *transport);
/* The packet that logs in. */
void connection_login_packet(struct connection *c, struct bytes *packet);
/* Reads the answer to it, and begins to compress. */
bool connection_logged_in(struct connection *c);
/* All three. */
bool connection_open(struct connection *c, const struct server *server,
                     const struct transport *transport);
/* Whatever state it is in. TLS says good-bye, as it should. */
void connection_close(struct connection *c);
/* As a client does that crashes: without a word. */
void connection_drop(struct connection *c);
/* Says that nothing more will come, but goes on to listen. */
bool connection_end_writing(struct connection *c);

/* What the server wants to see instead of the password: 20 bytes. */
#define SCRAMBLE_SIZE 20
void connection_scramble(const struct connection *c, const uint8_t *scramble,
                         uint8_t *answer);

/*
  What is to be written is put into envelopes first. compress_into() makes one
  compressed packet, encrypt_into() one TLS record (more if there is more than
  fits into one); without TLS it just copies.
*/
bool connection_compress_into(struct connection *c, struct bytes *out, uint8_t sequence,
                              const uint8_t *data, size_t size);
bool connection_encrypt_into(struct connection *c, struct bytes *out,
                             const uint8_t *data, size_t size);
/* In one write, if the system takes it; receives meanwhile. */
bool connection_write(struct connection *c, const struct bytes *bytes);

/* Reads a packet, or several that belong together, into c->packet. */
bool connection_read(struct connection *c);
/* How much came that is no whole packet yet. */
size_t connection_left(const struct connection *c);
/* Whether something came that nobody asked for. */
bool connection_has_more(struct connection *c);
/* Whether the server hangs up, without another word. */
bool connection_read_end(struct connection *c);

#endif
