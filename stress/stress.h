/*
  Stress for the thread pool: many clients that do everything which begins, ends
  or breaks off a wait, and leave in every way; others that kill them, change the
  pool's variables, and follow the binary log. Afterwards the pool has to be as
  empty as before, and the data have to be right.
*/
#ifndef STRESS_H
#define STRESS_H

#include <mysql.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DATABASE "stress"
/* Clients; clients that KILL USER may hit; whoever controls, by extra_port. */
#define CLIENT_USER "stress"
#define VICTIM_USER "victim"
#define ADMIN_USER "control"
#define PASSWORD "stress"

/* For everybody; with --enders each victim has two more. */
#define ACCOUNTS 20
#define HOT_ROWS 4
#define MASS_ROWS 200
#define USER_LOCKS 3

struct options
{
  const char *socket;
  unsigned port, extra_port;
  unsigned seconds, clients;
  unsigned enders;              /* so many victims are ended; 0: the other mode */
  unsigned accounts;
  uint64_t seed;
  int pid;                      /* of the server */
  unsigned hang;                /* s; nothing here lasts so long on its own */
  const char *backtrace;        /* the file for it */
};

extern struct options options;
extern atomic_bool stopping;
extern int null_fd;             /* of /dev/null */

enum way
{
  BY_TCP, BY_SOCKET, BY_TLS, BY_COMPRESSION, BY_TLS_COMPRESSION,
  TRANSPORTS,
  BY_EXTRA_PORT= TRANSPORTS
};
extern const char *const transport_names[];

/* A thread of ours: a client, or one of the others. */
struct worker
{
  unsigned number;
  uint64_t random;
  MYSQL *mysql;                 /* NULL: not connected */
  enum way transport;
  /* Read by the watchdog. */
  _Atomic(const char *) doing;
  _Atomic int64_t since;        /* ns; 0: waits for nothing */
  _Atomic unsigned long id;     /* of its connection */
  _Atomic uint64_t statements, connects;
  /* Transfers whose COMMIT was answered, and those nobody knows about. */
  _Atomic uint64_t commits, unknown;
  uint64_t transfers;
};

extern struct worker *clients;

/* --- session.c -------------------------------------------------------------- */

int64_t now_ns(void);
void seed_random(struct worker *w, uint64_t stream);
uint64_t next_random(struct worker *w);
unsigned below(struct worker *w, unsigned limit);     /* 0 .. limit - 1 */
bool one_in(struct worker *w, unsigned n);
void pause_ms(struct worker *w, unsigned max);        /* up to that */

/* What happened to a statement. */
enum outcome
{
  DONE,
  REFUSED,                      /* an error; the session goes on */
  LOST                          /* the connection is gone, and closed */
};

bool session_open(struct worker *w, enum way t, const char *user,
                  const char *program);
void session_close(struct worker *w);           /* with COM_QUIT */
/* The descriptor is closed, by a reset or not; the server is told nothing. */
void session_drop(struct worker *w);
/* For what is called between two of its own: the same bookkeeping. */
void begin_call(struct worker *w);
enum outcome end_call(struct worker *w, bool failed);
/* A statement, or several; the results are thrown away. */
enum outcome run(struct worker *w, const char *format, ...)
  __attribute__((format(printf, 2, 3)));
enum outcome take_results(struct worker *w);
/* ROLLBACK, UNLOCK TABLES and the like: if it fails, the session is dropped. */
bool tidy(struct worker *w, const char *statement);

void count_error(unsigned code, const char *text);
uint64_t errors_counted(void);
void forget_errors(void);
void check_errors(void);

/* --- the threads -------------------------------------------------------------- */

void *client_main(void *worker);                /* actions.c */
void *killer_main(void *worker);                /* background.c */
void *admin_main(void *worker);
void *dump_main(void *worker);
extern _Atomic uint64_t kills, settings, dump_events;

/* silent.c: connections that don't get as far as a session */
void silent_connection(struct worker *w);

/* enders.c: with --enders; seconds are the limit */
/* Clients of the load; they come before the victims in clients[]. */
#define LOAD 20
void enders_prepare(struct worker *control, unsigned victims);
void *victim_main(void *worker);
void *hunter_main(void *worker);
void *census_main(void *worker);
void *load_main(void *worker);
/* The locks that victims waited for. */
void enders_release(void);
unsigned enders_so_far(void);
bool enders_are_done(void);
void check_enders(struct worker *admin);

/* --- checks.c ------------------------------------------------------------------ */

void create_tables(struct worker *w);           /* exits if it cannot */
/* The rows of a query, as text; empty if there are none. */
void rows_of(struct worker *w, const char *query, char *to, size_t size);
void check_empty(struct worker *w, const char *name, const char *query);
/* The same, for what becomes true a while after the clients have gone. */
void check_settles(struct worker *w, const char *name, const char *query);
/* Each prints "ok NAME" or "FAILED NAME:" and what is wrong. */
void check_all(struct worker *admin);
void check(bool good, const char *name, const char *format, ...)
  __attribute__((format(printf, 3, 4)));
bool all_is_well(void);

/* --- watch.c -------------------------------------------------------------------- */

/*
  Progress and the watchdog, until the time is over; with --enders until all are done, and
  then the time is the limit. Does not return from a hang.
*/
void watch(unsigned seconds, _Atomic unsigned *running);
/* Does not return if it is gone. */
void look_at_server(void);

#endif
