#include "batch.h"

#include <stdlib.h>
#include <string.h>

#define COM_QUERY 3
#define COM_PING 14
#define COM_STMT_PREPARE 22
#define COM_STMT_EXECUTE 23
#define COM_STMT_SEND_LONG_DATA 24
#define COM_STMT_CLOSE 25
#define COM_STMT_RESET 26
#define COM_STMT_FETCH 28
#define COM_STMT_BULK_EXECUTE 250

#define TYPE_LONG 3
#define TYPE_LONG_BLOB 251
#define READ_ONLY_CURSOR 1
#define BULK_WITH_TYPES 128

/* A compressed packet says its length in three bytes. */
#define COMPRESSED_MAX (PACKET_MAX - 1)

const struct shape SHAPES[]=
{
  {"in one write", CUT_NOWHERE, CUT_NOWHERE, HOLD_NOTHING, false, false, true},
  {"held in a header", CUT_NOWHERE, CUT_NOWHERE, HOLD_IN_HEADER, false, false, false},
  {"held in a command", CUT_NOWHERE, CUT_NOWHERE, HOLD_IN_BODY, false, false, true},
  {"parts of two in a compressed packet", CUT_ACROSS, CUT_NOWHERE, HOLD_NOTHING, true, false, true},
  {"a compressed packet for each", CUT_BETWEEN, CUT_NOWHERE, HOLD_NOTHING, true, false, true},
  {"several compressed packets for each", CUT_WITHIN, CUT_NOWHERE, HOLD_NOTHING, true, false, true},
  {"a compressed packet for each, held in a header", CUT_BETWEEN, CUT_NOWHERE, HOLD_IN_HEADER, true, false, false},
  {"a compressed packet for each, held in a command", CUT_BETWEEN, CUT_NOWHERE, HOLD_IN_BODY, true, false, true},
  {"a TLS record for each", CUT_BETWEEN, CUT_BETWEEN, HOLD_NOTHING, false, true, false},
  {"several TLS records for each", CUT_BETWEEN, CUT_WITHIN, HOLD_NOTHING, false, true, false},
  {"parts of two in a TLS record", CUT_BETWEEN, CUT_ACROSS, HOLD_NOTHING, false, true, false},
  {NULL, 0, 0, 0, false, false, false}
};

const struct shape PLAIN_SHAPE= {"alone", CUT_NOWHERE, CUT_NOWHERE, HOLD_NOTHING, false, false, true};

bool shape_fits(const struct shape *s, const struct transport *t)
{
  return (!s->needs_compress || t->compress) && (!s->needs_tls || t->tls);
}

bool shape_shares(const struct shape *s, const struct transport *t)
{
  return t->compress && (s->packets == CUT_NOWHERE || s->packets == CUT_ACROSS);
}

/* --- commands ---------------------------------------------------------------- */

void batch_rewind(struct batch *b)
{
  b->sent= 0;
  b->answered= b->numbered= b->next_number= 0;
}

void batch_free(struct batch *b)
{
  for (unsigned i= 0; i < b->count; i++)
    free(b->steps[i].wanted);
  free(b->steps);
  bytes_free(&b->stream);
  *b= (struct batch) {0};
}

static struct step *add_step(struct batch *b, enum answer_kind kind, const char *wanted)
{
  if (b->count == b->room)
  {
    b->room= 2 * b->room + 16;
    b->steps= realloc(b->steps, b->room * sizeof(*b->steps));
    if (!b->steps)
      abort();
  }
  struct step *s= &b->steps[b->count++];
  *s= (struct step) {.from= b->stream.length, .kind= kind};
  if (wanted && !(s->wanted= strdup(wanted)))
    abort();
  return s;
}

/* Packets, as many as it takes: one that is full is followed by another. */
static void add_packets(struct bytes *stream, uint8_t sequence, const struct bytes *payload)
{
  size_t done= 0, size;
  do
  {
    size= payload->length - done;
    if (size > PACKET_MAX)
      size= PACKET_MAX;
    bytes_add_int(stream, size, 3);
    bytes_add_int(stream, sequence++, 1);
    bytes_add(stream, payload->data + done, size);
    done+= size;
  } while (size == PACKET_MAX);
}

void batch_command(struct batch *b, uint8_t command, const void *data, size_t size,
                   enum answer_kind kind, const char *wanted)
{
  struct bytes payload= {0};
  struct step *s= add_step(b, kind, wanted);
  bytes_add_int(&payload, command, 1);
  bytes_add(&payload, data, size);
  add_packets(&b->stream, 0, &payload);
  bytes_free(&payload);
  s->to= b->stream.length;
}

void batch_query(struct batch *b, const char *query, const char *wanted)
{
  batch_command(b, COM_QUERY, query, strlen(query), ANSWER_TEXT, wanted);
}

void batch_query_bytes(struct batch *b, const struct bytes *query, const char *wanted)
{
  batch_command(b, COM_QUERY, query->data, query->length, ANSWER_TEXT, wanted);
}

void batch_ping(struct batch *b)
{
  batch_command(b, COM_PING, NULL, 0, ANSWER_TEXT, "ok 0");
}

void batch_prepare(struct batch *b, const char *query, const char *wanted)
{
  batch_command(b, COM_STMT_PREPARE, query, strlen(query), ANSWER_PREPARE, wanted);
}

void batch_execute(struct batch *b, unsigned parameters, const int *values,
                   bool cursor, const char *wanted)
{
  struct bytes data= {0};
  bytes_add_int(&data, LAST_STATEMENT, 4);
  bytes_add_int(&data, cursor ? READ_ONLY_CURSOR : 0, 1);
  bytes_add_int(&data, 1, 4);           /* times */
  if (parameters)
  {
    bytes_add_int(&data, 0, (parameters + 7) / 8);      /* none is NULL */
    bytes_add_int(&data, 1, 1);                         /* types follow */
    for (unsigned i= 0; i < parameters; i++)
      bytes_add_int(&data, TYPE_LONG, 2);
    for (unsigned i= 0; i < parameters; i++)
      bytes_add_int(&data, (uint32_t) values[i], 4);
  }
  batch_command(b, COM_STMT_EXECUTE, data.data, data.length, ANSWER_BINARY, wanted);
  bytes_free(&data);
}

void batch_bulk_execute(struct batch *b, const int values[3][2], const char *wanted)
{
  struct bytes data= {0};
  bytes_add_int(&data, LAST_STATEMENT, 4);
  bytes_add_int(&data, BULK_WITH_TYPES, 2);
  bytes_add_int(&data, TYPE_LONG, 2);
  bytes_add_int(&data, TYPE_LONG, 2);
  for (unsigned i= 0; i < 3; i++)
    for (unsigned j= 0; j < 2; j++)
    {
      bytes_add_int(&data, 0, 1);       /* a value, not NULL */
      bytes_add_int(&data, (uint32_t) values[i][j], 4);
    }
  batch_command(b, COM_STMT_BULK_EXECUTE, data.data, data.length, ANSWER_BINARY, wanted);
  bytes_free(&data);
}

void batch_execute_long(struct batch *b, const char *wanted)
{
  struct bytes data= {0};
  bytes_add_int(&data, LAST_STATEMENT, 4);
  bytes_add_int(&data, 0, 1);
  bytes_add_int(&data, 1, 4);
  bytes_add_int(&data, 0, 1);
  bytes_add_int(&data, 1, 1);
  bytes_add_int(&data, TYPE_LONG_BLOB, 2);
  batch_command(b, COM_STMT_EXECUTE, data.data, data.length, ANSWER_BINARY, wanted);
  bytes_free(&data);
}

void batch_long_data(struct batch *b, const void *part, size_t size)
{
  struct bytes data= {0};
  bytes_add_int(&data, LAST_STATEMENT, 4);
  bytes_add_int(&data, 0, 2);           /* the first parameter */
  bytes_add(&data, part, size);
  batch_command(b, COM_STMT_SEND_LONG_DATA, data.data, data.length, ANSWER_TEXT, NULL);
  bytes_free(&data);
}

void batch_fetch(struct batch *b, unsigned rows, const char *wanted)
{
  struct bytes data= {0};
  bytes_add_int(&data, LAST_STATEMENT, 4);
  bytes_add_int(&data, rows, 4);
  batch_command(b, COM_STMT_FETCH, data.data, data.length, ANSWER_FETCH, wanted);
  bytes_free(&data);
}

static void command_of_statement(struct batch *b, uint8_t command, const char *wanted)
{
  static const uint8_t last[4]= {255, 255, 255, 255};
  batch_command(b, command, last, sizeof(last), ANSWER_TEXT, wanted);
}

void batch_close_statement(struct batch *b)
{
  command_of_statement(b, COM_STMT_CLOSE, NULL);
}

void batch_reset_statement(struct batch *b)
{
  command_of_statement(b, COM_STMT_RESET, "ok 0");
}

void batch_data(struct batch *b, const void *data, size_t size, const char *wanted)
{
  struct bytes payload= {0};
  bool first= !b->count || !b->steps[b->count - 1].is_data;
  /* 0 was the query, 1 the server's request. */
  uint8_t sequence= 2;
  for (unsigned i= b->count; i-- && b->steps[i].is_data; )
    sequence++;
  struct step *s= add_step(b, ANSWER_TEXT, wanted);
  s->is_data= true;
  s->first_data= first;
  bytes_add(&payload, data, size);
  add_packets(&b->stream, sequence, &payload);
  bytes_free(&payload);
  s->to= b->stream.length;
}

/* --- envelopes ---------------------------------------------------------------- */

/*
  The number that the server wants to see in a compressed packet which begins at
  this place of the stream. It counts those of a command from 0, its own request
  for a file among them. It reads a packet only when it needs one: at the
  beginning of a command, or within it. A command that lies in earlier packets as
  a whole counts as one.
*/
static uint8_t number_at(struct batch *b, size_t place)
{
  for (; b->numbered < b->count && b->steps[b->numbered].from <= place; b->numbered++)
  {
    const struct step *s= &b->steps[b->numbered];
    if (!s->is_data)
      b->next_number= s->to <= place;
    else if (s->first_data)
      b->next_number++;
  }
  return b->next_number++;
}

/* Where envelopes end, in the order of the stream. */
struct places
{
  size_t *at;
  unsigned count, room;
};

static void add_place(struct places *p, size_t at)
{
  if (p->count == p->room)
  {
    p->room= 2 * p->room + 64;
    p->at= realloc(p->at, p->room * sizeof(*p->at));
    if (!p->at)
      abort();
  }
  p->at[p->count++]= at;
}

static void cut_unit(struct places *p, enum cut cut, size_t from, size_t to)
{
  if (cut == CUT_WITHIN || cut == CUT_ACROSS)
  {
    if (to - from > 2)
      add_place(p, from + 2);
    if (to - from > 8)
      add_place(p, from + (to - from) / 2);
  }
  if (cut == CUT_WITHIN || cut == CUT_BETWEEN)
    add_place(p, to);
}

/* Compressed packets of what is between from and to; where they end. */
static bool compress_all(struct batch *b, struct connection *c, enum cut cut,
                         size_t from, size_t to, struct bytes *out, struct places *ends)
{
  struct places places= {0};
  bool done= true;
  for (unsigned i= 0; i < b->count; i++)
    cut_unit(&places, cut, b->steps[i].from, b->steps[i].to);
  add_place(&places, to);
  for (unsigned i= 0; done && i < places.count; i++)
  {
    size_t end= places.at[i] < to ? places.at[i] : to;
    while (done && from < end)
    {
      size_t size= end - from < COMPRESSED_MAX ? end - from : COMPRESSED_MAX;
      done= connection_compress_into(c, out, number_at(b, from), b->stream.data + from,
                                     size);
      add_place(ends, out->length);
      from+= size;
    }
  }
  free(places.at);
  return done;
}

/* TLS records; the units are compressed packets, or without them, commands. */
static bool encrypt_all(struct connection *c, enum cut cut, const struct bytes *plain,
                        const struct places *units, struct bytes *out)
{
  struct places places= {0};
  size_t from= 0;
  bool done= true;
  for (unsigned i= 0; i < units->count; i++)
  {
    cut_unit(&places, cut, from, units->at[i]);
    from= units->at[i];
  }
  add_place(&places, plain->length);
  from= 0;
  for (unsigned i= 0; done && i < places.count; i++)
    if (places.at[i] > from)
    {
      done= connection_encrypt_into(c, out, plain->data + from, places.at[i] - from);
      from= places.at[i];
    }
  free(places.at);
  return done;
}

bool batch_wrap(struct batch *b, struct connection *c, const struct shape *shape,
                size_t to, struct bytes *out)
{
  struct bytes plain= {0};
  struct places units= {0};
  size_t from= b->sent;
  bool done= true;
  if (c->transport->compress)
    done= compress_all(b, c, shape->packets, from, to, &plain, &units);
  else
  {
    bytes_add(&plain, b->stream.data + from, to - from);
    for (unsigned i= 0; i < b->count; i++)
      if (b->steps[i].to > from && b->steps[i].to <= to)
        add_place(&units, b->steps[i].to - from);
    add_place(&units, to - from);
  }
  done= done && encrypt_all(c, shape->records, &plain, &units, out);
  b->sent= to;
  bytes_free(&plain);
  free(units.at);
  return done;
}

/* --- sending and reading ------------------------------------------------------- */

static bool complain(struct bytes *complaint, const struct shape *shape, unsigned step,
                     const char *got, const char *wanted)
{
  bytes_printf(complaint, "#   %s, command %u: %s%s%s\n", shape->name, step + 1, got,
               wanted ? ", wanted: " : "", wanted ? wanted : "");
  return false;
}

static bool is_wanted(const char *got, const char *wanted)
{
  const char *other= strstr(wanted, " or ");
  size_t length= strlen(wanted);
  if (other)
    return is_wanted(got, other + 4) ||
      (strlen(got) == (size_t) (other - wanted) && !strncmp(got, wanted, strlen(got)));
  if (length && wanted[length - 1] == '*')
    return !strncmp(got, wanted, length - 1);
  return !strcmp(got, wanted);
}

static bool read_until(struct batch *b, struct connection *c, const struct shape *shape,
                       unsigned to, struct bytes *complaint)
{
  struct bytes text= {0};
  bool good= true;
  for (; good && b->answered < to; b->answered++)
  {
    const struct step *s= &b->steps[b->answered];
    if (!s->wanted)
      continue;
    if (!answer_read(c, s->kind, &text))
      good= complain(complaint, shape, b->answered, c->error, s->wanted);
    else if (!is_wanted(bytes_text(&text), s->wanted))
      good= complain(complaint, shape, b->answered, bytes_text(&text), s->wanted);
  }
  bytes_free(&text);
  return good;
}

static bool send_until(struct batch *b, struct connection *c, const struct shape *shape,
                       size_t to, struct bytes *complaint)
{
  struct bytes out= {0};
  bool done= batch_wrap(b, c, shape, to, &out) && connection_write(c, &out);
  bytes_free(&out);
  return done || complain(complaint, shape, 0, c->error, "to be sent");
}

bool batch_send(struct batch *b, struct connection *c, const struct shape *shape,
                struct bytes *complaint)
{
  connection_set_deadline(c);
  return send_until(b, c, shape, b->stream.length, complaint);
}

bool batch_read(struct batch *b, struct connection *c, const struct shape *shape,
                struct bytes *complaint)
{
  connection_set_deadline(c);
  if (!read_until(b, c, shape, b->count, complaint))
    return false;
  return !connection_has_more(c) ||
    complain(complaint, shape, b->count - 1, "more than one answer came", NULL);
}

bool batch_run(struct batch *b, struct connection *c, const struct shape *shape,
               struct bytes *complaint)
{
  batch_rewind(b);
  if (shape->hold != HOLD_NOTHING && b->count > 1)
  {
    const struct step *second= &b->steps[1];
    size_t held= shape->hold == HOLD_IN_HEADER
      ? 2 : (second->to - second->from + PACKET_HEADER) / 2;
    connection_set_deadline(c);
    if (!send_until(b, c, shape, second->from + held, complaint) ||
        !read_until(b, c, shape, 1, complaint))
      return false;
  }
  return batch_send(b, c, shape, complaint) && batch_read(b, c, shape, complaint);
}
