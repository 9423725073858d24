/*
  A batch: commands that are sent without waiting for answers, and the answers
  that have to come. And the ways of putting it into envelopes.
*/
#ifndef TPWIRE_BATCH_H
#define TPWIRE_BATCH_H

#include "answer.h"

/* The statement that was prepared last, whatever its number is. */
#define LAST_STATEMENT 0xffffffffu

struct step
{
  size_t from, to;              /* in the stream */
  bool is_data;                 /* of a file; else a command */
  bool first_data;              /* the server has asked for it before */
  enum answer_kind kind;
  char *wanted;                 /* NULL: no answer to this; "ok *": any count;
                                   "a or b": one of them */
};

struct batch
{
  struct bytes stream;          /* packets, as they are without envelopes */
  struct step *steps;
  unsigned count, room;
  size_t sent;                  /* of the stream */
  unsigned answered;            /* steps */
  /* For the numbers of compressed packets. */
  unsigned numbered;
  uint8_t next_number;
};

void batch_free(struct batch *b);
/* So that it can be sent once more. */
void batch_rewind(struct batch *b);

/* Commands. The last argument is the answer that has to come. */
void batch_query(struct batch *b, const char *query, const char *wanted);
void batch_query_bytes(struct batch *b, const struct bytes *query, const char *wanted);
void batch_command(struct batch *b, uint8_t command, const void *data, size_t size,
                   enum answer_kind kind, const char *wanted);
void batch_ping(struct batch *b);
void batch_prepare(struct batch *b, const char *query, const char *wanted);
/* With integer parameters, or none. */
void batch_execute(struct batch *b, unsigned parameters, const int *values,
                   bool cursor, const char *wanted);
/* Three INSERTs of two integers in one command. */
void batch_bulk_execute(struct batch *b, const int values[3][2], const char *wanted);
/* With one parameter that was sent as long data before. */
void batch_execute_long(struct batch *b, const char *wanted);
void batch_long_data(struct batch *b, const void *data, size_t size);
void batch_fetch(struct batch *b, unsigned rows, const char *wanted);
void batch_close_statement(struct batch *b);
void batch_reset_statement(struct batch *b);
/* A part of a file that the server asks for. An empty one ends the file. */
void batch_data(struct batch *b, const void *data, size_t size, const char *wanted);

/* Where envelopes end. */
enum cut
{
  CUT_NOWHERE,                  /* all in one */
  CUT_BETWEEN,                  /* one for each command */
  CUT_WITHIN,                   /* in headers and in the middle of commands too */
  CUT_ACROSS                    /* only there, so that a command's end and the
                                   beginning of the next one are in the same */
};

/* Where the first of two writes ends; the other comes after the first answers. */
enum hold
{
  HOLD_NOTHING,
  HOLD_IN_HEADER,               /* after two bytes of the second command */
  HOLD_IN_BODY                  /* in its middle */
};

struct shape
{
  const char *name;
  enum cut packets;             /* compressed ones */
  enum cut records;             /* of TLS; what they cut are compressed packets */
  enum hold hold;
  bool needs_compress, needs_tls;
  bool for_large;               /* also for batches of megabytes */
};

extern const struct shape SHAPES[];
/* For those which are not looked at. */
extern const struct shape PLAIN_SHAPE;

bool shape_fits(const struct shape *s, const struct transport *t);
/* Whether compressed packets hold more than one command, or parts of two. */
bool shape_shares(const struct shape *s, const struct transport *t);

/* What has not been sent looks like this on the wire, up to that place. */
bool batch_wrap(struct batch *b, struct connection *c, const struct shape *shape,
                size_t to, struct bytes *out);

/*
  What goes wrong is appended to the complaint, with the name of the shape; true
  if nothing did.
*/

/* Sends what was not sent yet. */
bool batch_send(struct batch *b, struct connection *c, const struct shape *shape,
                struct bytes *complaint);
/* Reads the answers that were not read yet; nothing may be behind them. */
bool batch_read(struct batch *b, struct connection *c, const struct shape *shape,
                struct bytes *complaint);
/* Both, from its beginning, and with what the shape says about holding back. */
bool batch_run(struct batch *b, struct connection *c, const struct shape *shape,
               struct bytes *complaint);

#endif
