#include "login.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* us; each byte is one that a worker comes for, so it has time to take it */
#define BETWEEN_BYTES 500
#define ANSWER_OF_SELECT 5      /* packets */

bool client_open(struct client *k, const struct server *server, const struct transport *transport,
                 const struct speech *speech)
{
  *k= (struct client) {.speech= speech, .since= now()};
  if (!connection_connect(&k->c, server, transport))
    return false;
  k->c.heard= &k->heard;
  return true;
}

void client_free(struct client *k)
{
  connection_drop(&k->c);
  bytes_free(&k->rest);
  bytes_free(&k->heard);
}

/* --- what it reads ------------------------------------------------------------------------- */

/* A packet, which may take all the time that there is. */
static bool read_packet(struct client *k)
{
  connection_set_deadline(&k->c);
  return connection_read(&k->c);
}

/* Reads the greeting, or what comes instead of it; false: nothing does. */
static bool greeting(struct client *k)
{
  if (k->greeted)
    return true;
  k->greeted= true;
  if (!read_packet(k))
    return false;
  if (k->c.packet.length && k->c.packet.data[0] == 10)
    return connection_take_greeting(&k->c);
  return true;
}

/* The server wants another plugin. */
static bool be_asked(struct client *k)
{
  if (!read_packet(k))
    return false;
  k->to_be_asked= false;
  if (k->c.packet.length && k->c.packet.data[0] == 254)
    return true;
  strcpy(k->c.error, "not asked for another plugin");
  return false;
}

static void describe(const struct bytes *packet, struct bytes *to)
{
  const uint8_t *data= packet->data;
  size_t skip= 3;
  switch (packet->length ? data[0] : 0)
  {
  case 10:  bytes_add_text(to, "greeting"); return;
  case 0:   bytes_add_text(to, "ok"); return;
  case 254: bytes_add_text(to, "another plugin"); return;
  case 255: break;
  default:  bytes_add_text(to, "something else"); return;
  }
  /* The SQLSTATE */
  if (packet->length >= 9 && data[3] == '#')
    skip= 9;
  if (packet->length < skip)
  {
    bytes_add_text(to, "something else");
    return;
  }
  bytes_printf(to, "error %u: ", (unsigned) read_int(data + 1, 2));
  bytes_add(to, data + skip, packet->length - skip);
}

/* --- what it says -------------------------------------------------------------------------- */

/* It is not sent before the last one was taken, as far as this can be known. */
void write_bytes(int fd, const uint8_t *data, size_t size)
{
  int on= 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  for (size_t i= 0; i < size; i++)
  {
    if (send(fd, data + i, 1, MSG_NOSIGNAL) != 1)
      return;
    usleep(BETWEEN_BYTES);
  }
}

bool client_begins(struct client *k)
{
  struct bytes first= {0};
  const struct speech *s= k->speech;
  speech_rest(s, &k->rest);
  if (s->how & BLIND)
    return true;
  if (!greeting(k))
    return false;
  speech_first(s, &first);
  write_all(k->c.fd, first.data, first.length);
  bytes_free(&first);
  k->to_be_asked= s->how & (ASKED | ASKED_LATER);
  return !(s->how & ASKED) || be_asked(k);
}

/* Says what is missing; then its session has to work. */
bool client_goes_on(struct client *k, writer *write, struct bytes *to)
{
  if (!greeting(k) || (k->to_be_asked && !be_asked(k)))
    return false;
  write(k->c.fd, k->rest.data, k->rest.length);
  if (!read_packet(k))
    return false;
  if (k->c.packet.length && k->c.packet.data[0] != 0)
  {
    describe(&k->c.packet, to);
    return true;
  }
  bytes_add_text(to, "logged in, ");
  return client_selects(k, to);
}

bool client_selects(struct client *k, struct bytes *to)
{
  static const uint8_t query[]= "\x09\0\0\0\3SELECT 1";
  const struct bytes *p= &k->c.packet;
  bool right= false;
  write_all(k->c.fd, query, sizeof(query) - 1);
  for (unsigned i= 0; i < ANSWER_OF_SELECT; i++)
  {
    if (!read_packet(k))
      return false;
    if (i == 3)
      right= p->length == 2 && p->data[0] == 1 && p->data[1] == '1';
  }
  bytes_add_text(to, right ? "SELECT 1" : "wrong");
  return true;
}

/* Waits until the server has hung up; what it said until then. */
bool client_hears_end(struct client *k, struct bytes *to)
{
  connection_set_deadline(&k->c);
  while (connection_read(&k->c))
  {
    describe(&k->c.packet, to);
    bytes_add_text(to, ", ");
  }
  if (!k->c.closed)
    return false;
  if (connection_left(&k->c))
    bytes_printf(to, "%zu bytes, ", connection_left(&k->c));
  bytes_add_text(to, "end");
  return true;
}

/* --- a whole conversation ------------------------------------------------------------------ */

/* All that it says before the server's last answer. */
static bool speak(struct client *k)
{
  const struct speech *s= k->speech;
  writer *write= s->how & BYTES ? write_bytes : write_all;
  struct bytes first= {0}, then= {0};
  bool good= s->how & BLIND || greeting(k);
  speech_first(s, &first);
  speech_answer(s, s->how & AT_ONCE ? &first : &then);
  if (good)
    write(k->c.fd, first.data, first.length);
  if (good && s->how & ASKED)
    good= be_asked(k);
  if (good)
    write(k->c.fd, then.data, then.length);
  if (good && s->how & READ)
    good= read_packet(k);
  if (good && s->how & ENDS)
    shutdown(k->c.fd, SHUT_WR);
  bytes_free(&first);
  bytes_free(&then);
  return good;
}

static void comma(struct bytes *said)
{
  if (said->length)
    bytes_add_text(said, ", ");
}

static void replace(struct bytes *in, const void *what, size_t size, const char *by, bool all)
{
  for (size_t from= 0; size; )
  {
    const uint8_t *at= from < in->length ? memmem(in->data + from, in->length - from, what, size) : NULL;
    if (!at)
      return;
    size_t place= (size_t) (at - in->data);
    struct bytes behind= {0};
    bytes_add(&behind, at + size, in->length - place - size);
    in->length= place;
    bytes_add_text(in, by);
    from= in->length;
    bytes_add(in, behind.data, behind.length);
    bytes_free(&behind);
    if (!all)
      return;
  }
}

/* What the server answers, until it hangs up or says ok. */
static bool listen_to(struct client *k, struct bytes *said)
{
  const struct bytes *p= &k->c.packet;
  if (!k->greeted)
  {
    /* Instead of a greeting, it may be an error. */
    if (!greeting(k))
      return false;
    describe(p, said);
  }
  for (;;)
  {
    if (!read_packet(k))
      return false;
    comma(said);
    describe(p, said);
    /* A scramble of its own */
    if (p->length && p->data[0] == 254)
      replace(&k->heard, p->data, p->length, "another plugin", false);
    if (p->length && p->data[0] == 0)
    {
      struct bytes works= {0};
      bool done= client_selects(k, &works);
      if (done)
        bytes_printf(said, ", %s", bytes_text(&works));
      bytes_free(&works);
      return done;
    }
  }
}

/* Says the same of what is different each time. */
static void normalise(struct client *k)
{
  struct bytes *heard= &k->heard;
  static const uint8_t none[sizeof(k->c.scramble)];
  if (!memcmp(k->c.scramble, none, sizeof(none)) || heard->length < 10)
    return;
  const uint8_t *at= memchr(heard->data + 5, 0, heard->length - 5);
  if (at && heard->data + heard->length - at > 4)
    memcpy(heard->data + (at + 1 - heard->data), "ID..", 4);
  replace(heard, k->c.scramble, 8, "8 bytes.", true);
  replace(heard, k->c.scramble + 8, 12, "12 bytes....", true);
}

void client_talks(struct client *k, struct bytes *said)
{
  if (!speak(k) || !listen_to(k, said))
  {
    comma(said);
    bytes_add_text(said, k->c.error);
  }
  if (connection_left(&k->c))
  {
    comma(said);
    bytes_printf(said, "and %zu bytes", connection_left(&k->c));
  }
  normalise(k);
}
