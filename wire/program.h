/*
  What the programs that test a server have in common: where it is, statements of their
  own, and TAP.
*/
#ifndef TPWIRE_PROGRAM_H
#define TPWIRE_PROGRAM_H

#include "batch.h"

#include <getopt.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Each program says its name. */
extern const char program_name[];

/* Ends the program with status 2. */
void die(const char *what, const char *why) __attribute__((noreturn));

/* --- where the server is ------------------------------------------------------- */

/* For the list of getopt_long(). */
#define SERVER_OPTIONS \
  {"socket", required_argument, NULL, 's'}, \
  {"port", required_argument, NULL, 'p'}, \
  {"user", required_argument, NULL, 'u'}, \
  {"password", required_argument, NULL, 'w'}, \
  {"seconds", required_argument, NULL, 't'}

/* Takes optarg; false: it is none of these. */
bool server_option(struct server *s, int option);
bool server_is_known(const struct server *s);

/* The same server for a user who has this name, password and database; with TLS. */
void server_for(struct server *s, const struct server *admin, const char *name);

/* --- statements ---------------------------------------------------------------- */

/* Whatever the answer is. False: none came. */
bool ask(struct connection *c, const char *query, struct bytes *answer);
/* An error ends the program. */
void must(struct connection *c, const char *query);
/* Asks again and again until that is the answer; false: it does not become so. */
bool wait_answer(struct connection *c, const char *query, const char *wanted, double seconds);

/* --- TAP ----------------------------------------------------------------------- */

void tap(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Of them so far. */
unsigned tap_lines(void);
/* The last line, with their number. Returns the status for the program. */
int tap_end(void);

#endif
