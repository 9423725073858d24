#include "connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/sha.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

/* Capabilities, with the names of the protocol. */
#define CONNECT_WITH_DB 8
#define COMPRESS 32
#define LOCAL_FILES 128
#define PROTOCOL_41 512
#define TLS 2048
#define TRANSACTIONS 8192
#define SECURE_CONNECTION 32768
#define MULTI_STATEMENTS 65536
#define MULTI_RESULTS 131072
#define PS_MULTI_RESULTS 262144
#define PLUGIN_AUTH 524288
/* MariaDB's own, which only holds without the flag 1 ("MySQL"). */
#define MARIADB_BULK 4

#define COMPRESSED_HEADER 7
/* Shorter ones are stored as they are, as other clients do. */
#define COMPRESS_FROM 50
#define RECORD_MAX 16384

double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

/*
  A server that has let so many deadlines pass has failed already; then shorter
  ones do, so that the whole comes to an end.
*/
#define PATIENCE 3
#define SHORT_SECONDS 2
static _Thread_local unsigned missed;

void connection_set_deadline(struct connection *c)
{
  double seconds= c->server->seconds;
  if (missed >= PATIENCE && seconds > SHORT_SECONDS && !c->server->patient)
    seconds= SHORT_SECONDS;
  c->seconds= seconds;
  c->deadline= now() + seconds;
}

static bool __attribute__((format(printf, 2, 3)))
failed(struct connection *c, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vsnprintf(c->error, sizeof(c->error), format, args);
  va_end(args);
  return false;
}

static bool tls_failed(struct connection *c, const char *what)
{
  char text[200];
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  return failed(c, "%s: %s", what, text);
}

/* --- the socket ------------------------------------------------------------ */

/* Waits until one of the events, or the deadline. */
static bool wait_for(struct connection *c, short events, short *happened)
{
  for (;;)
  {
    double left= c->deadline - now();
    if (left <= 0)
    {
      missed++;
      return failed(c, "nothing came within %g s", c->seconds);
    }
    struct pollfd poll_fd= {.fd= c->fd, .events= events};
    int n= poll(&poll_fd, 1, (int) (left * 1000) + 1);
    if (n < 0 && errno != EINTR)
      return failed(c, "poll: %s", strerror(errno));
    if (n > 0)
    {
      *happened= poll_fd.revents;
      return true;
    }
  }
}

static bool decrypt(struct connection *c, const uint8_t *data, size_t size)
{
  if (!c->ssl)
  {
    bytes_add(&c->received, data, size);
    return true;
  }
  if (BIO_write(c->from_wire, data, (int) size) != (int) size)
    return tls_failed(c, "BIO_write");
  if (!SSL_is_init_finished(c->ssl))
    return true;
  for (;;)
  {
    int n= SSL_read(c->ssl, bytes_room(&c->received, RECORD_MAX), RECORD_MAX);
    if (n <= 0)
    {
      if (SSL_get_error(c->ssl, n) == SSL_ERROR_WANT_READ)
        return true;
      /* An alert, such as the one that the server has had enough of us. */
      c->closed= true;
      ERR_clear_error();
      return true;
    }
    c->received.length+= (size_t) n;
  }
}

/* Takes what is there; false without an error if nothing is. */
static bool receive(struct connection *c)
{
  static _Thread_local uint8_t buffer[1 << 16];
  ssize_t n= recv(c->fd, buffer, sizeof(buffer), MSG_DONTWAIT);
  if (n > 0)
  {
    if (c->heard)
      bytes_add(c->heard, buffer, (size_t) n);
    return decrypt(c, buffer, (size_t) n);
  }
  if (n == 0)
    c->closed= true;
  else if (errno == ECONNRESET || errno == EPIPE)
    c->closed= c->reset= true;
  else if (errno != EAGAIN && errno != EINTR)
    return failed(c, "recv: %s", strerror(errno));
  return false;
}

/* Takes what comes next, which may be the end. */
static bool receive_next(struct connection *c)
{
  short happened;
  if (!wait_for(c, POLLIN, &happened))
    return false;
  receive(c);
  return !*c->error;
}

bool connection_write(struct connection *c, const struct bytes *bytes)
{
  size_t done= 0;
  while (done < bytes->length)
  {
    ssize_t n= send(c->fd, bytes->data + done, bytes->length - done,
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0)
    {
      done+= (size_t) n;
      continue;
    }
    if (errno == EINTR)
      continue;
    if (errno != EAGAIN)
      return failed(c, "send: %s", strerror(errno));
    /* The server may wait for us to read its answers. */
    short happened;
    if (!wait_for(c, POLLIN | POLLOUT, &happened))
      return false;
    if (happened & POLLIN)
    {
      receive(c);
      if (*c->error)
        return false;
      if (c->closed)
        return failed(c, "the server hung up before all was sent");
    }
  }
  return true;
}

/* Sends what TLS has to say itself, such as its handshake. */
static bool flush_tls(struct connection *c)
{
  char *data;
  struct bytes out= {0};
  long size= BIO_get_mem_data(c->to_wire, &data);
  if (size <= 0)
    return true;
  bytes_add(&out, data, (size_t) size);
  (void) BIO_reset(c->to_wire);
  bool sent= connection_write(c, &out);
  bytes_free(&out);
  return sent;
}

/* --- envelopes -------------------------------------------------------------- */

bool connection_compress_into(struct connection *c, struct bytes *out, uint8_t sequence,
                              const uint8_t *data, size_t size)
{
  uLongf room= compressBound(size), packed= room;
  size_t header= out->length;
  bytes_add_int(out, 0, COMPRESSED_HEADER);
  if (size < COMPRESS_FROM)
    packed= size;
  else
  {
    if (compress2(bytes_room(out, room), &packed, data, size, 1) != Z_OK)
      return failed(c, "zlib does not compress");
    if (packed >= size)
      packed= size;
  }
  /* A length of 0 says that it is not compressed. */
  if (packed == size)
    bytes_add(out, data, size);
  else
    out->length+= packed;
  struct bytes at= {.data= out->data + header, .room= COMPRESSED_HEADER};
  bytes_add_int(&at, packed, 3);
  bytes_add_int(&at, sequence, 1);
  bytes_add_int(&at, packed == size ? 0 : size, 3);
  return true;
}

bool connection_encrypt_into(struct connection *c, struct bytes *out,
                             const uint8_t *data, size_t size)
{
  if (!c->ssl)
  {
    bytes_add(out, data, size);
    return true;
  }
  if (SSL_write(c->ssl, data, (int) size) != (int) size)
    return tls_failed(c, "SSL_write");
  char *records;
  long length= BIO_get_mem_data(c->to_wire, &records);
  bytes_add(out, records, (size_t) length);
  (void) BIO_reset(c->to_wire);
  return true;
}

/* --- packets ---------------------------------------------------------------- */

/* Opens the compressed packets that are complete. */
static bool unpack(struct connection *c)
{
  if (!c->compress)
  {
    bytes_add(&c->in, c->received.data, c->received.length);
    bytes_clear(&c->received);
    return true;
  }
  size_t at= 0;
  while (c->received.length - at >= COMPRESSED_HEADER)
  {
    const uint8_t *header= c->received.data + at;
    size_t packed= read_int(header, 3), size= read_int(header + 4, 3);
    if (c->received.length - at - COMPRESSED_HEADER < packed)
      break;
    if (!size)
      bytes_add(&c->in, header + COMPRESSED_HEADER, packed);
    else
    {
      uLongf length= size;
      if (uncompress(bytes_room(&c->in, size), &length, header + COMPRESSED_HEADER,
                     packed) != Z_OK || length != size)
        return failed(c, "a compressed packet of the server is damaged");
      c->in.length+= size;
    }
    at+= COMPRESSED_HEADER + packed;
  }
  if (at)
    bytes_drop(&c->received, at);
  return true;
}

/* Until so many bytes of packets are there. */
static bool need(struct connection *c, size_t size)
{
  if (c->taken)
  {
    bytes_drop(&c->in, c->taken);
    c->taken= 0;
  }
  while (c->in.length < size)
  {
    if (c->received.length && !unpack(c))
      return false;
    if (c->in.length >= size)
      break;
    if (c->closed)
      return failed(c, "the server hung up");
    if (!receive_next(c))
      return false;
  }
  return true;
}

bool connection_read(struct connection *c)
{
  size_t length;
  bytes_clear(&c->packet);
  do
  {
    if (!need(c, PACKET_HEADER))
      return false;
    length= read_int(c->in.data, 3);
    c->sequence= (uint8_t) (c->in.data[3] + 1);
    if (!need(c, PACKET_HEADER + length))
      return false;
    bytes_add(&c->packet, c->in.data + PACKET_HEADER, length);
    c->taken= PACKET_HEADER + length;
  } while (length == PACKET_MAX);
  return true;
}

size_t connection_left(const struct connection *c)
{
  return c->received.length + c->in.length - c->taken;
}

bool connection_has_more(struct connection *c)
{
  while (receive(c)) {}
  return connection_left(c);
}

bool connection_read_end(struct connection *c)
{
  while (!c->closed && !*c->error)
    if (!receive_next(c))
      return false;
  if (!*c->error && connection_left(c))
    return failed(c, "an answer that nobody asked for");
  return !*c->error;
}

/* --- login ------------------------------------------------------------------ */

static bool open_socket(struct connection *c)
{
  struct sockaddr_un local= {.sun_family= AF_UNIX};
  struct sockaddr_in remote= {.sin_family= AF_INET};
  struct sockaddr *address= (struct sockaddr *) &remote;
  socklen_t size= sizeof(remote);
  if (c->transport->unix_socket)
  {
    if (strlen(c->server->socket) >= sizeof(local.sun_path))
      return failed(c, "the path of the socket is too long");
    strcpy(local.sun_path, c->server->socket);
    address= (struct sockaddr *) &local;
    size= sizeof(local);
  }
  else
  {
    remote.sin_port= htons((uint16_t) c->server->port);
    remote.sin_addr.s_addr= htonl(INADDR_LOOPBACK);
  }
  c->fd= socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (c->fd < 0)
    return failed(c, "socket: %s", strerror(errno));
  if (c->server->from && !c->transport->unix_socket)
  {
    struct sockaddr_in own= {.sin_family= AF_INET};
    if (inet_pton(AF_INET, c->server->from, &own.sin_addr) != 1 ||
        bind(c->fd, (struct sockaddr *) &own, sizeof(own)))
      return failed(c, "%s: %s", c->server->from, strerror(errno));
  }
  if (connect(c->fd, address, size))
    return failed(c, "connect: %s", strerror(errno));
  int on= 1;
  if (!c->transport->unix_socket)
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return true;
}

static bool server_error(struct connection *c)
{
  if (c->packet.length > 3 && c->packet.data[0] == 0xff)
    return failed(c, "error %u: %.*s", (unsigned) read_int(c->packet.data + 1, 2),
                  (int) c->packet.length - 3, c->packet.data + 3);
  return failed(c, "not what a server says at login");
}

bool connection_take_greeting(struct connection *c)
{
  const uint8_t *data= c->packet.data, *end= data + c->packet.length;
  if (c->packet.length < 2 || data[0] != 10)
    return server_error(c);
  const uint8_t *at= memchr(data, 0, c->packet.length);
  /* The number, 8 bytes of the scramble, 19 other ones, the other 12 bytes. */
  if (!at || end - at < 1 + 4 + 8 + 19 + 12)
    return failed(c, "the greeting is too short");
  at++;
  c->id= (uint32_t) read_int(at, 4);
  memcpy(c->scramble, at + 4, 8);
  memcpy(c->scramble + 8, at + 4 + 8 + 19, 12);
  return true;
}

static uint32_t capabilities(const struct connection *c)
{
  uint32_t flags= CONNECT_WITH_DB | LOCAL_FILES | PROTOCOL_41 | TRANSACTIONS |
    SECURE_CONNECTION | MULTI_STATEMENTS | MULTI_RESULTS | PS_MULTI_RESULTS |
    PLUGIN_AUTH;
  if (c->transport->compress)
    flags|= COMPRESS;
  if (c->transport->tls)
    flags|= TLS;
  return flags | c->server->more_capabilities;
}

/* What the request for TLS and the login begin with. */
static void add_login_head(struct connection *c, struct bytes *packet)
{
  static const uint8_t zeroes[19];
  bytes_add_int(packet, capabilities(c), 4);
  bytes_add_int(packet, 1 << 30, 4);            /* the largest packet */
  bytes_add_int(packet, 8, 1);                  /* latin1 */
  bytes_add(packet, zeroes, sizeof(zeroes));
  bytes_add_int(packet, MARIADB_BULK, 4);
}

static void add_header(struct bytes *packet, uint8_t sequence)
{
  struct bytes at= {.data= packet->data, .room= PACKET_HEADER};
  bytes_add_int(&at, packet->length - PACKET_HEADER, 3);
  bytes_add_int(&at, sequence, 1);
}

bool connection_request_tls(struct connection *c)
{
  struct bytes packet= {0};
  bytes_add_int(&packet, 0, PACKET_HEADER);
  add_login_head(c, &packet);
  add_header(&packet, c->sequence++);
  bool sent= connection_write(c, &packet);
  bytes_free(&packet);
  if (!sent)
    return false;

  c->ssl= SSL_new(c->server->tls);
  c->from_wire= BIO_new(BIO_s_mem());
  c->to_wire= BIO_new(BIO_s_mem());
  if (!c->ssl || !c->from_wire || !c->to_wire)
    return tls_failed(c, "SSL_new");
  /* Empty means: not yet. */
  BIO_set_mem_eof_return(c->from_wire, -1);
  SSL_set_bio(c->ssl, c->from_wire, c->to_wire);
  SSL_set_connect_state(c->ssl);
  return true;
}

bool connection_hello_into(struct connection *c, struct bytes *out)
{
  char *data;
  if (SSL_get_error(c->ssl, SSL_connect(c->ssl)) != SSL_ERROR_WANT_READ)
    return tls_failed(c, "SSL_connect");
  long size= BIO_get_mem_data(c->to_wire, &data);
  bytes_add(out, data, (size_t) size);
  (void) BIO_reset(c->to_wire);
  return true;
}

bool connection_finish_tls(struct connection *c)
{
  for (;;)
  {
    int done= SSL_connect(c->ssl);
    int error= SSL_get_error(c->ssl, done);
    if (!flush_tls(c))
      return false;
    if (done == 1)
      return true;
    if (error != SSL_ERROR_WANT_READ)
      return tls_failed(c, "SSL_connect");
    if (!receive_next(c))
      return false;
    if (c->closed)
      return failed(c, "the server hung up during the handshake of TLS");
  }
}

static bool begin_tls(struct connection *c)
{
  return connection_request_tls(c) && connection_finish_tls(c);
}

bool connection_connect(struct connection *c, const struct server *server,
                        const struct transport *transport)
{
  *c= (struct connection) {.server= server, .transport= transport, .fd= -1};
  connection_set_deadline(c);
  return open_socket(c);
}

bool connection_meet(struct connection *c, const struct server *server,
                     const struct transport *transport)
{
  return connection_connect(c, server, transport) && connection_read(c) &&
    connection_take_greeting(c);
}

bool connection_greet(struct connection *c, const struct server *server,
                      const struct transport *transport)
{
  return connection_meet(c, server, transport) && (!transport->tls || begin_tls(c));
}

void connection_scramble(const struct connection *c, const uint8_t *scramble,
                         uint8_t *answer)
{
  uint8_t once[20], twice[20], salted[40], mask[20];
  SHA1((const uint8_t *) c->server->password, strlen(c->server->password), once);
  SHA1(once, sizeof(once), twice);
  memcpy(salted, scramble, 20);
  memcpy(salted + 20, twice, 20);
  SHA1(salted, sizeof(salted), mask);
  for (unsigned i= 0; i < 20; i++)
    answer[i]= once[i] ^ mask[i];
}

void connection_login_packet(struct connection *c, struct bytes *packet)
{
  uint8_t answer[20];
  bytes_clear(packet);
  bytes_add_int(packet, 0, PACKET_HEADER);
  add_login_head(c, packet);
  bytes_add(packet, c->server->user, strlen(c->server->user) + 1);
  if (*c->server->password)
  {
    connection_scramble(c, c->scramble, answer);
    bytes_add_int(packet, sizeof(answer), 1);
    bytes_add(packet, answer, sizeof(answer));
  }
  else
    bytes_add_int(packet, 0, 1);
  bytes_add(packet, c->server->database, strlen(c->server->database) + 1);
  const char *plugin= c->server->plugin ? c->server->plugin : "mysql_native_password";
  bytes_add(packet, plugin, strlen(plugin) + 1);
  add_header(packet, c->sequence++);
}

bool connection_logged_in(struct connection *c)
{
  if (!connection_read(c))
    return false;
  if (!c->packet.length || c->packet.data[0] != 0)
    return server_error(c);
  c->compress= c->transport->compress;
  if (c->compress)
  {
    /* What came behind it is compressed. */
    bytes_drop(&c->in, c->taken);
    c->taken= 0;
    bytes_add(&c->in, c->received.data, c->received.length);
    bytes_clear(&c->received);
    struct bytes swap= c->in;
    c->in= c->received;
    c->received= swap;
  }
  return true;
}

bool connection_open(struct connection *c, const struct server *server,
                     const struct transport *transport)
{
  if (!connection_greet(c, server, transport))
    return false;
  struct bytes packet= {0}, out= {0};
  connection_login_packet(c, &packet);
  bool done= connection_encrypt_into(c, &out, packet.data, packet.length) &&
    connection_write(c, &out) && connection_logged_in(c);
  bytes_free(&packet);
  bytes_free(&out);
  return done;
}

bool connection_end_writing(struct connection *c)
{
  if (c->ssl)
  {
    SSL_shutdown(c->ssl);
    if (!flush_tls(c))
      return false;
  }
  return !shutdown(c->fd, SHUT_WR) || failed(c, "shutdown: %s", strerror(errno));
}

void connection_close(struct connection *c)
{
  if (c->ssl && SSL_is_init_finished(c->ssl) && !c->closed)
  {
    connection_set_deadline(c);
    SSL_shutdown(c->ssl);
    flush_tls(c);
  }
  connection_drop(c);
}

void connection_drop(struct connection *c)
{
  if (c->ssl)
    SSL_free(c->ssl);           /* with its two BIOs */
  ERR_clear_error();
  if (c->fd >= 0)
    close(c->fd);
  c->fd= -1;
  c->ssl= NULL;
  bytes_free(&c->received);
  bytes_free(&c->in);
  bytes_free(&c->packet);
}
