#include "answer.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define MORE_RESULTS 8
#define CURSOR_EXISTS 64
#define SHOWN_MAX 60
#define COLUMNS_MAX 16

/* Types of columns that the tests use. */
#define TYPE_TINY 1
#define TYPE_SHORT 2
#define TYPE_LONG 3
#define TYPE_LONGLONG 8
#define TYPE_VARCHAR 15
#define TYPE_NEWDECIMAL 246

struct columns
{
  unsigned count;
  uint8_t type[COLUMNS_MAX];
};

/* Of the last EXECUTE: a FETCH does not repeat them. */
static struct columns fetched;

/* A packet that is read from its beginning to its end. */
struct reader
{
  const uint8_t *at, *end;
  bool bad;
};

static uint64_t take_int(struct reader *r, unsigned size)
{
  if ((size_t) (r->end - r->at) < size)
  {
    r->bad= true;
    return 0;
  }
  uint64_t value= read_int(r->at, size);
  r->at+= size;
  return value;
}

/* An integer that says itself how long it is; 251 stands for NULL. */
static uint64_t take_length(struct reader *r, bool *is_null)
{
  uint64_t first= take_int(r, 1);
  *is_null= first == 251;
  switch (first)
  {
  case 251: return 0;
  case 252: return take_int(r, 2);
  case 253: return take_int(r, 3);
  case 254: return take_int(r, 8);
  default:  return first;
  }
}

static const uint8_t *take_string(struct reader *r, size_t *length, bool *is_null)
{
  *length= take_length(r, is_null);
  if (*length > (size_t) (r->end - r->at))
  {
    r->bad= true;
    *length= 0;
  }
  const uint8_t *data= r->at;
  r->at+= *length;
  return data;
}

static bool senseless(struct connection *c, const char *what)
{
  snprintf(c->error, sizeof(c->error), "makes no sense: %s (%zu bytes, the first is %u)",
           what, c->packet.length, c->packet.length ? c->packet.data[0] : 0);
  return false;
}

void answer_show(struct bytes *text, const void *value, size_t length)
{
  if (length <= SHOWN_MAX)
    bytes_add(text, value, length);
  else
    bytes_printf(text, "%zu:%08lx", length, crc32(0, value, (uInt) length));
}

static bool is_eof(const struct connection *c)
{
  return c->packet.length && c->packet.data[0] == 254 && c->packet.length < 9;
}

static bool is_error(const struct connection *c)
{
  return c->packet.length >= 3 && c->packet.data[0] == 255;
}

static unsigned eof_status(const struct connection *c)
{
  return c->packet.length >= 5 ? (unsigned) read_int(c->packet.data + 3, 2) : 0;
}

static void show_error(const struct connection *c, struct bytes *text)
{
  bytes_printf(text, "error %u", (unsigned) read_int(c->packet.data + 1, 2));
}

/* Definitions of columns or parameters, and what ends them. */
static bool read_columns(struct connection *c, unsigned count, struct columns *columns)
{
  if (count > COLUMNS_MAX)
    return senseless(c, "so many columns");
  columns->count= count;
  for (unsigned i= 0; i < count; i++)
  {
    if (!connection_read(c))
      return false;
    struct reader r= {c->packet.data, c->packet.data + c->packet.length, false};
    size_t length;
    bool is_null;
    /* Catalogue, database, table twice, name twice. */
    for (unsigned j= 0; j < 6; j++)
      take_string(&r, &length, &is_null);
    take_length(&r, &is_null);
    take_int(&r, 2 + 4);        /* character set, length */
    columns->type[i]= (uint8_t) take_int(&r, 1);
    if (r.bad)
      return senseless(c, "a column");
  }
  if (!connection_read(c))
    return false;
  return is_eof(c) || senseless(c, "the end of the columns");
}

static bool show_text_row(struct connection *c, unsigned count, struct bytes *text)
{
  struct reader r= {c->packet.data, c->packet.data + c->packet.length, false};
  for (unsigned i= 0; i < count; i++)
  {
    size_t length;
    bool is_null;
    const uint8_t *value= take_string(&r, &length, &is_null);
    if (i)
      bytes_add_text(text, ",");
    if (is_null)
      bytes_add_text(text, "NULL");
    else
      answer_show(text, value, length);
  }
  return (!r.bad && r.at == r.end) || senseless(c, "a row");
}

static bool show_binary_value(struct connection *c, struct reader *r, uint8_t type,
                              struct bytes *text)
{
  size_t length;
  bool is_null;
  const uint8_t *value;
  switch (type)
  {
  case TYPE_TINY:
    bytes_printf(text, "%d", (int8_t) take_int(r, 1));
    return true;
  case TYPE_SHORT:
    bytes_printf(text, "%d", (int16_t) take_int(r, 2));
    return true;
  case TYPE_LONG:
    bytes_printf(text, "%d", (int32_t) take_int(r, 4));
    return true;
  case TYPE_LONGLONG:
    bytes_printf(text, "%lld", (long long) take_int(r, 8));
    return true;
  default:
    if (type != TYPE_VARCHAR && type < TYPE_NEWDECIMAL)
      return senseless(c, "a type");
    value= take_string(r, &length, &is_null);
    answer_show(text, value, length);
    return true;
  }
}

static bool show_binary_row(struct connection *c, const struct columns *columns,
                            struct bytes *text)
{
  struct reader r= {c->packet.data, c->packet.data + c->packet.length, false};
  uint8_t nulls[(COLUMNS_MAX + 9) / 8 + 1];
  take_int(&r, 1);
  /* The first two bits are not used. */
  for (unsigned i= 0; i < (columns->count + 9) / 8; i++)
    nulls[i]= (uint8_t) take_int(&r, 1);
  for (unsigned i= 0; i < columns->count; i++)
  {
    if (i)
      bytes_add_text(text, ",");
    if (nulls[(i + 2) / 8] & (1 << ((i + 2) % 8)))
      bytes_add_text(text, "NULL");
    else if (!show_binary_value(c, &r, columns->type[i], text))
      return false;
  }
  return (!r.bad && r.at == r.end) || senseless(c, "a row");
}

/* Rows and what ends them. */
static bool read_rows(struct connection *c, const struct columns *columns, bool binary,
                      struct bytes *text, unsigned *status)
{
  unsigned rows= 0;
  for (;; rows++)
  {
    if (!connection_read(c))
      return false;
    if (is_error(c))
    {
      show_error(c, text);
      return true;
    }
    if (is_eof(c))
      break;
    if (rows)
      bytes_add_text(text, "|");
    if (binary ? !show_binary_row(c, columns, text)
               : !show_text_row(c, columns->count, text))
      return false;
  }
  if (!rows)
    bytes_add_text(text, "no rows");
  *status= eof_status(c);
  return true;
}

static bool read_one_result(struct connection *c, bool binary, struct bytes *text,
                            unsigned *status)
{
  struct columns columns;
  bool is_null;
  *status= 0;
  if (!connection_read(c))
    return false;
  struct reader r= {c->packet.data, c->packet.data + c->packet.length, false};
  if (is_error(c))
  {
    show_error(c, text);
    return true;
  }
  if (is_eof(c))
  {
    bytes_add_text(text, "eof");
    return true;
  }
  if (!c->packet.length)
    return senseless(c, "an empty answer");
  if (c->packet.data[0] == 254)
  {
    bytes_add_text(text, "auth");
    return true;
  }
  if (c->packet.data[0] == 251)
  {
    bytes_printf(text, "file %.*s", (int) c->packet.length - 1, c->packet.data + 1);
    return true;
  }
  if (c->packet.data[0] == 0)
  {
    take_int(&r, 1);
    bytes_printf(text, "ok %llu", (unsigned long long) take_length(&r, &is_null));
    take_length(&r, &is_null);  /* the insert id */
    *status= (unsigned) take_int(&r, 2);
    return !r.bad || senseless(c, "an OK");
  }
  unsigned count= (unsigned) take_length(&r, &is_null);
  if (r.bad || r.at != r.end)
    return senseless(c, "the head of a result");
  if (!read_columns(c, count, &columns))
    return false;
  if (binary)
    fetched= columns;
  if (eof_status(c) & CURSOR_EXISTS)
  {
    bytes_add_text(text, "cursor");
    return true;
  }
  return read_rows(c, &columns, binary, text, status);
}

static bool read_prepare(struct connection *c, struct bytes *text)
{
  struct columns columns;
  if (!connection_read(c))
    return false;
  if (is_error(c))
  {
    show_error(c, text);
    return true;
  }
  if (c->packet.length < 12 || c->packet.data[0] != 0)
    return senseless(c, "the answer to PREPARE");
  unsigned column_count= (unsigned) read_int(c->packet.data + 5, 2);
  unsigned parameters= (unsigned) read_int(c->packet.data + 7, 2);
  bytes_printf(text, "prepared %u/%u", parameters, column_count);
  return (!parameters || read_columns(c, parameters, &columns)) &&
    (!column_count || read_columns(c, column_count, &columns));
}

bool answer_read(struct connection *c, enum answer_kind kind, struct bytes *text)
{
  unsigned status;
  bytes_clear(text);
  if (kind == ANSWER_PREPARE)
    return read_prepare(c, text);
  if (kind == ANSWER_FETCH)
    return read_rows(c, &fetched, true, text, &status);
  for (;;)
  {
    if (!read_one_result(c, kind == ANSWER_BINARY, text, &status))
      return false;
    if (!(status & MORE_RESULTS))
      return true;
    bytes_add_text(text, "; ");
  }
}
