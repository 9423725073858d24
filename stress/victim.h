/*
  Victims: connections that speak the protocol themselves (wire/), are brought into
  a state, and are ended there. And the load beside them, whose results have to stay
  right. ci/stress --enders.
*/
#ifndef STRESS_VICTIM_H
#define STRESS_VICTIM_H

#include "stress.h"
#include "../wire/half.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Whoever hunts may kill all who have this name, at any time. */
#define HUNTED_USER "hunted"
/* The lock that is never free. */
#define HELD_LOCK "stress_0"

/* s; set by ci/stress for the whole server, since sessions can't */
#define CONNECT_SECONDS 5
#define INTERACTIVE_SECONDS 2
/* s; for sessions */
#define TIMEOUT_SECONDS 1
#define STATEMENT_SECONDS 0.3
/* s; a statement ends by itself then, whoever has left */
#define OWN_END 4
#define OWN_END_TEXT "4"
/* s; so long after its end was due is a victim a hang; if it stays, so long for an answer */
#define LIMIT 10
#define ANSWER_LIMIT 30

enum ender
{
  END_KILL, END_KILL_QUERY, END_KILL_USER,
  END_WAIT_TIMEOUT, END_INTERACTIVE_TIMEOUT, END_IDLE_TRANSACTION_TIMEOUT, END_MAX_STATEMENT_TIME,
  END_NET_READ_TIMEOUT, END_NET_WRITE_TIMEOUT, END_CONNECT_TIMEOUT,
  QUIT, CLOSE, RESET, END_WRITING,
  ENDERS
};
#define BIT(ender) (1u << (ender))

struct victim;

/* Kinds of states. */
#define LOGIN 1                 /* has not logged in yet */
#define HANDSHAKE 2             /* of TLS */
#define UNREAD 4                /* does not read */
#define ASKED 8                 /* a whole command was sent, so there is an answer, */
#define INTERRUPTED 16          /* an error if the statement is ended */

struct state
{
  const char *name;
  unsigned weight;
  bool (*begin)(struct victim *v);
  /* Says what it was about to say; false: it can't. NULL: nothing is missing. */
  bool (*go_on)(struct victim *v);
  unsigned enders;              /* bits */
  unsigned kind;                /* bits */
};

extern const struct state states[];
extern const unsigned state_count;

/* A transfer of money, as the client knows it. */
enum knowledge
{
  NEVER,                        /* no COMMIT was sent */
  MAYBE,                        /* one was, without an answer */
  COMMITTED
};

struct victim
{
  struct worker *w;             /* with a control connection */
  unsigned index;               /* of the victims */
  const struct state *state;
  enum ender ender;
  unsigned way;
  bool hunted;
  struct server server;
  struct connection c;
  struct batch b;
  struct half half;             /* of what is on its way */
  _Atomic uint32_t prey;        /* its number, for hunters; 0: leave it alone */
  unsigned packets, oks;        /* that came since the state was reached */
  bool refused;                 /* an error was among them */
  unsigned code;                /* of the first one */
  double asked_at;              /* when the last command was sent */
  char value;                   /* of a row with one character; 0: none came */
  unsigned oks_wanted;          /* for the COMMIT; 0: none was sent */
  uint64_t transfer;            /* its number; 0: none */
  bool in_transfer;             /* all of it but the COMMIT is done */
  bool not_now;                 /* it was not seen in its state: no failure */
  bool loading, load_ended;
  /* Of LOAD DATA LOCAL: those that were answered, and those nobody knows about. */
  uint64_t loads, loads_unknown;
};

static inline bool is(const struct victim *v, unsigned kind) { return v->state->kind & kind; }

#define ROWS_OF_LOAD 3

extern const struct transport ways[];
extern const unsigned way_count;

/* --- states.c ------------------------------------------------------------------ */

/* As far as all states of its kind go; then into the state. */
bool victim_arrive(struct victim *v);
bool victim_begin(struct victim *v);
bool send_batch(struct victim *v);
bool victim_query(struct victim *v, const char *query);         /* sends */
/* A packet that came: errors are counted. */
void victim_note(struct victim *v);

/* --- census.c: the process list, read again and again ---------------------------- */

enum seen
{
  THERE, SLEEPING, IN_QUERY, IN_SLEEP, IN_USER_LOCK, IN_METADATA_LOCK,
  GONE
};
/* Until the list says so about a connection; seconds. */
bool census_wait(uint32_t id, enum seen what, double seconds);
void *census_main(void *worker);

/* --- enders.c ------------------------------------------------------------------- */

extern struct victim *victims;

/* --- load.c ---------------------------------------------------------------------- */

void *load_main(void *worker);
/* Numbers a transfer, and says what is known of it; each client about its own. */
uint64_t transfer_new(struct worker *w, unsigned from, unsigned to, unsigned amount);
void transfer_is(struct worker *w, uint64_t number, enum knowledge what);
/* Everything of a transfer but BEGIN and COMMIT; "; " between. */
void transfer_text(struct worker *w, uint64_t number, char *to, size_t size);
void check_transfers(struct worker *admin);

#endif
