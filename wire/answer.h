/*
  An answer of the server, as one line of text, so that a test can compare it
  with the one that it wants:
    ok 2              an OK packet, with the affected rows
    error 1064        an error
    1,a|2,b           rows; "no rows" if there are none
    1|2; ok 1; 3      several results
    prepared 2/1      a prepared statement, its parameters and columns
    cursor            a cursor was opened
    file NAME         the server asks for that file
    auth              the server asks for a password; c->packet says how
    eof               the answer to commands that only say so
  Long values are shown as LENGTH:CHECKSUM.
*/
#ifndef TPWIRE_ANSWER_H
#define TPWIRE_ANSWER_H

#include "connection.h"

/* What is asked for decides how the answer is to be read. */
enum answer_kind
{
  ANSWER_TEXT,                  /* of a query, and of simple commands */
  ANSWER_PREPARE,
  ANSWER_BINARY,                /* of EXECUTE */
  ANSWER_FETCH                  /* of FETCH; columns are those of the EXECUTE */
};

/* False: it did not come, or makes no sense; c->error says it. */
bool answer_read(struct connection *c, enum answer_kind kind, struct bytes *text);

/* How a value is shown. */
void answer_show(struct bytes *text, const void *value, size_t length);

#endif
