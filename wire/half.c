#include "half.h"

#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>

void half_free(struct half *h) { bytes_free(&h->rest); }

static size_t first_of(const struct half *h, size_t size)
{
  return h->first ? h->first(h->who, size) : size / 2;
}

/* Writes the first part of it, as it is on the wire. */
static bool write_first(struct half *h, struct connection *c, struct bytes *out)
{
  size_t part= first_of(h, out->length);
  bytes_add(&h->rest, out->data + part, out->length - part);
  out->length= part;
  return connection_write(c, out);
}

bool half_rest(struct half *h, struct connection *c)
{
  connection_set_deadline(c);
  bool done= !h->rest.length || connection_write(c, &h->rest);
  bytes_clear(&h->rest);
  return done;
}

/* --- commands -------------------------------------------------------------------- */

bool send_part(struct connection *c, struct batch *b, size_t to)
{
  struct bytes out= {0};
  connection_set_deadline(c);
  bool done= batch_wrap(b, c, &PLAIN_SHAPE, to, &out) && connection_write(c, &out);
  bytes_free(&out);
  return done;
}

bool half_query(struct half *h, struct connection *c, struct batch *b, const char *query)
{
  struct bytes text= {0}, out= {0};
  bytes_printf(&text, "%s /* and so on, until it is long enough to be compressed "
               "------------------------------------------------------------- */", query);
  batch_query_bytes(b, &text, NULL);
  connection_set_deadline(c);
  bool done= batch_wrap(b, c, &PLAIN_SHAPE, b->stream.length, &out) && write_first(h, c, &out);
  bytes_free(&text);
  bytes_free(&out);
  return done;
}

bool half_query_rest(struct half *h, struct connection *c, struct batch *b)
{
  return half_rest(h, c) &&
    (b->sent == b->stream.length || send_part(c, b, b->stream.length));
}

/* --- login ------------------------------------------------------------------------ */

static bool send_all(struct connection *c, const uint8_t *data, size_t size)
{
  struct bytes out= {0};
  connection_set_deadline(c);
  bool done= connection_encrypt_into(c, &out, data, size) && connection_write(c, &out);
  bytes_free(&out);
  return done;
}

bool send_login(struct connection *c)
{
  struct bytes packet= {0};
  connection_login_packet(c, &packet);
  bool done= send_all(c, packet.data, packet.length);
  bytes_free(&packet);
  return done;
}

/* The rest is not encrypted yet: it is a record of its own. */
bool half_login(struct half *h, struct connection *c)
{
  struct bytes packet= {0};
  connection_login_packet(c, &packet);
  size_t part= first_of(h, packet.length);
  bytes_add(&h->rest, packet.data + part, packet.length - part);
  bool done= send_all(c, packet.data, part);
  bytes_free(&packet);
  return done;
}

bool half_login_rest(struct half *h, struct connection *c)
{
  bool done= send_all(c, h->rest.data, h->rest.length) && connection_logged_in(c);
  bytes_clear(&h->rest);
  return done;
}

bool login_is_asked(struct connection *c)
{
  const struct server *right= c->server;
  struct server other= *right;
  other.plugin= "none";
  c->server= &other;
  bool done= send_login(c) && connection_read(c);
  c->server= right;
  return done && c->packet.length > SCRAMBLE_SIZE + 1 && c->packet.data[0] == 254;
}

bool login_answers(struct connection *c)
{
  struct bytes packet= {0};
  uint8_t scramble[SCRAMBLE_SIZE], answer[SCRAMBLE_SIZE];
  const struct bytes *request= &c->packet;
  if (request->length < SCRAMBLE_SIZE + 2)
    return false;
  /* The plugin's name, the scramble, a zero. */
  memcpy(scramble, request->data + request->length - SCRAMBLE_SIZE - 1, SCRAMBLE_SIZE);
  connection_scramble(c, scramble, answer);
  bytes_add_int(&packet, SCRAMBLE_SIZE, 3);
  bytes_add_int(&packet, c->sequence, 1);
  bytes_add(&packet, answer, SCRAMBLE_SIZE);
  bool done= send_all(c, packet.data, packet.length) && connection_logged_in(c);
  bytes_free(&packet);
  return done;
}

/* --- TLS --------------------------------------------------------------------------- */

bool half_hello(struct half *h, struct connection *c)
{
  struct bytes hello= {0};
  connection_set_deadline(c);
  bool done= connection_request_tls(c) && connection_hello_into(c, &hello) &&
    write_first(h, c, &hello);
  bytes_free(&hello);
  return done;
}

bool hello_is_answered(struct connection *c, double seconds)
{
  struct bytes hello= {0};
  struct pollfd fd= {.fd= c->fd, .events= POLLIN};
  connection_set_deadline(c);
  bool done= connection_request_tls(c) && connection_hello_into(c, &hello) &&
    connection_write(c, &hello) && poll(&fd, 1, (int) (1000 * seconds)) == 1;
  bytes_free(&hello);
  return done;
}

bool hello_rest(struct half *h, struct connection *c)
{
  return half_rest(h, c) && connection_finish_tls(c);
}

/* --- reading ------------------------------------------------------------------------ */

bool buffers_are_full(struct connection *c, double until)
{
  int before= -1, there= 0;
  for (unsigned same= 0; same < 5; before= there)
  {
    if (now() > until || ioctl(c->fd, FIONREAD, &there))
      return false;
    same= there > 0 && there == before ? same + 1 : 0;
    poll(NULL, 0, 10);
  }
  return true;
}
