/*
  What ends a connection or a statement (KILL, time-outs, shutdown), in each state
  that a connection can be in, over each transport: what does its client see, and
  how soon; when has the server let go of it?

  A cell of the matrix: a victim is brought into a state, which is looked at from
  outside; it is ended; then its client listens. doc/kill.md has the table.

  Prints TAP: a line for a state and an ender, which stands for all transports.
  Times are only measured (--table), never judged, unless --limit-ms asks for it.
*/
#include "half.h"
#include "peer.h"
#include "program.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEST_USER "tpmatrix"
#define FILLER_USER "tpmatrix_filler"
#define INTERACTIVE 1024        /* the capability */

/* For time-outs, s. Long enough to bring all victims of a wave into their state. */
#define TIMEOUT 3
/* So much is a time-out allowed to be early, for the sake of clocks, s. */
#define EARLY 0.05
/* After a time-out that can't be seen from outside, until the client goes on, s. */
#define AFTER_TIMEOUT 0.5
/* What "in seconds" means for a time-out, ms. */
#define RESOLUTION 1000
/* Who was not taken for so long waits for a thread, s. */
#define QUEUED_AFTER 0.5
/* The same if it is in the queue. */
#define QUEUED_US 100000
#define VICTIMS_MAX 128
/* More than the first statements of a session, which are favoured. */
#define STATEMENTS_BEFORE 50

static const struct transport TRANSPORTS[]=
{
  {"TCP", false, false, false},
  {"Unix socket", true, false, false},
  {"TLS", false, true, false},
  {"compression", false, false, true},
};

static const struct transport UNIX_TLS= {"Unix socket", true, true, false};
static const struct transport LOCAL= {"control", true, false, false};
static const struct transport REMOTE= {"control", false, false, false};

/* --- the table ------------------------------------------------------------------ */

enum ender
{
  KILL, KILL_QUERY, KILL_USER, SHUTDOWN,
  WAIT_TIMEOUT, INTERACTIVE_TIMEOUT, IDLE_TRANSACTION_TIMEOUT, MAX_STATEMENT_TIME,
  NET_READ_TIMEOUT, NET_WRITE_TIMEOUT, CONNECT_TIMEOUT,
  ENDERS
};

static const char *const ENDER_NAMES[ENDERS]=
{
  "KILL CONNECTION", "KILL QUERY", "KILL USER", "shutdown",
  "wait_timeout", "interactive_timeout", "idle_transaction_timeout", "max_statement_time",
  "net_read_timeout", "net_write_timeout", "connect_timeout"
};

struct victim;

struct state
{
  const char *name;
  bool (*begin)(struct victim *v);
  /* The client goes on with what it was about to do; false: it can't. */
  bool (*go_on)(struct victim *v);
  bool login;                   /* has not logged in yet */
  bool unread;                  /* the client doesn't read */
  bool full_pool;               /* needs a server of its own */
  /*
    What has to happen:
      N closed      the client reads error N, then the end
      closed        no error: the protocol has no place for one, or the client asked for
                    nothing, and knows what to do if its connection is closed
      N             error N, and the connection stays usable
      stays         nothing: what the client is about is answered
      later N       error N when the client goes on; it stays usable
      answered      the statement ends with its answer; the connection stays usable
      answered closed  the same, then the end
      -WHY          no such cell
    An error 1053 at a shutdown may also be 1927.
  */
  const char *wanted[ENDERS];
};

struct victim
{
  const struct state *state;
  const struct transport *transport;    /* as named */
  struct connection c;
  struct batch b;
  struct half half;             /* of what is on its way */
  double since;                 /* when time-outs begin to count */
  double ended_at;              /* when it was, or was due to be, ended */
  const char *wanted;
  unsigned code;                /* of the error that it was sent */
  unsigned ends;                /* of the parts of a result: columns, rows */
  bool in_result, answered;
  double told;                  /* when that was, or the answer; 0: not yet */
  double closed, gone;
  char got[100];
};

const char program_name[]= "tpmatrix";

static struct server admin= {.user= "root", .password= "", .database= "", .seconds= 10};
static struct server server;
static struct connection control, holder, filler;
static unsigned extra_port, limit_ms;
static bool with_queue;
static const char *only_state, *only_transport, *only_ender;
static FILE *table;
static bool server_is_gone;

/* --- statements of others --------------------------------------------------------- */

static bool wait_control(const char *query, const char *wanted)
{
  bool good= wait_answer(&control, query, wanted, server.seconds);
  if (*control.error)
    die(query, control.error);
  return good;
}

/* In a thread: one that waits in the pool's queue is shown as well. */
#define RUNS_QUERY "command='Query' AND state NOT LIKE 'Waiting in thread pool%'"

static bool wait_process(const struct victim *v, const char *condition)
{
  char query[300];
  snprintf(query, sizeof(query), "SELECT COUNT(*) FROM information_schema.processlist "
           "WHERE id=%u AND %s", v->c.id, condition);
  return wait_control(query, "1");
}

static void open_control(struct connection *c)
{
  static struct server by_extra_port;
  by_extra_port= admin;
  by_extra_port.port= extra_port;
  if (!connection_open(c, extra_port ? &by_extra_port : &admin, extra_port ? &REMOTE : &LOCAL))
    die("no connection", c->error);
}

/* Holds a lock of each kind. */
static void open_holder(void)
{
  open_control(&holder);
  must(&holder, "SELECT GET_LOCK('" TEST_USER "', 0)");
  must(&holder, "BEGIN");
  must(&holder, "SELECT id FROM " TEST_USER ".t WHERE id=1 FOR UPDATE");
  must(&holder, "SELECT id FROM " TEST_USER ".m");
}

/* --- what the server has taken from the socket -------------------------------------- */

static bool wait_taken(const struct victim *v)
{
  double until= now() + server.seconds;
  while (peer_unread(&v->c) != 0)
  {
    if (now() > until)
      return false;
    poll(NULL, 0, 1);
  }
  return true;
}

/* --- states --------------------------------------------------------------------------- */

static bool send_all(struct victim *v) { return send_part(&v->c, &v->b, v->b.stream.length); }

static bool send_query(struct victim *v, const char *query)
{
  batch_free(&v->b);
  v->b= (struct batch) {0};
  batch_query(&v->b, query, NULL);
  return send_all(v);
}

static bool run(struct victim *v, const char *query)
{
  struct bytes answer= {0};
  bool done= ask(&v->c, query, &answer);
  if (done && !strncmp(bytes_text(&answer), "error ", 6))
    die(query, bytes_text(&answer));
  bytes_free(&answer);
  return done;
}

static bool begin_idle(struct victim *v)
{
  /* The last thing that it does: time-outs count from here. */
  return run(v, "DO 0") && wait_process(v, "command='Sleep'");
}

static bool begin_transaction(struct victim *v)
{
  return run(v, "BEGIN") && run(v, "INSERT INTO l VALUES (1)") &&
    wait_process(v, "command='Sleep'");
}

static bool ask_something(struct victim *v) { return send_query(v, "SELECT 'answered'"); }

/* Asks again as long as there is still a thread that answers. */
static bool enters_queue(struct victim *v)
{
  struct bytes answer= {0};
  char query[200];
  bool queued= false;
  snprintf(query, sizeof(query), "SELECT COUNT(*) FROM information_schema.THREAD_POOL_QUEUES "
           "WHERE connection_id=%u AND queueing_time_microseconds>%d", v->c.id, QUEUED_US);
  for (double until= now() + server.seconds; !queued && ask_something(v) && now() < until; )
  {
    double sent= now();
    /* A full pool may have nobody who puts it into the queue; then it waits all the same. */
    while (!queued && !connection_has_more(&v->c) && now() < until)
      queued= ask(&control, query, &answer) &&
        (!strcmp(bytes_text(&answer), "1") ||
         (now() > sent + QUEUED_AFTER && peer_unread(&v->c) > 0));
    if (!queued && !answer_read(&v->c, ANSWER_TEXT, &answer))
      break;
  }
  bytes_free(&answer);
  return queued;
}

/* So that it is no newcomer, whom the pool favours. */
static bool grow_old(struct connection *c)
{
  for (unsigned i= 0; i < STATEMENTS_BEFORE; i++)
  {
    struct bytes answer= {0};
    bool done= ask(c, "DO 0", &answer);
    bytes_free(&answer);
    if (!done)
      return false;
  }
  return true;
}

/* A statement that keeps the only thread busy. */
static bool begin_filling(void)
{
  static struct server of_filler;
  struct batch b= {0};
  struct bytes complaint= {0};
  char query[160];
  of_filler= server;
  of_filler.user= FILLER_USER;
  batch_query(&b, "DO BENCHMARK(100000000000, MD5('x'))", NULL);
  if (!connection_open(&filler, &of_filler, &LOCAL) || !grow_old(&filler) ||
      !batch_send(&b, &filler, &PLAIN_SHAPE, &complaint))
    die("no connection", filler.error);
  batch_free(&b);
  bytes_free(&complaint);
  snprintf(query, sizeof(query), "SELECT COUNT(*) FROM information_schema.processlist "
           "WHERE id=%u AND command='Query'", filler.id);
  return wait_control(query, "1");
}

static bool begin_queued(struct victim *v)
{
  return (filler.fd >= 0 || begin_filling()) && enters_queue(v);
}

static void end_filler(void)
{
  char query[160];
  if (filler.fd < 0)
    return;
  if (!server_is_gone)
  {
    snprintf(query, sizeof(query), "KILL QUERY %u", filler.id);
    struct bytes answer= {0};
    ask(&control, query, &answer);
    bytes_free(&answer);
  }
  connection_drop(&filler);
}

static bool leave_queue(struct victim *v)
{
  (void) v;
  end_filler();
  return true;
}

/* An envelope with two bytes of the command's header. */
static bool begin_half_header(struct victim *v)
{
  batch_query(&v->b, "SELECT 'answered'", NULL);
  return send_part(&v->c, &v->b, 2) && wait_taken(v);
}

/* What is on the wire ends in the middle, of an envelope too. */
static bool begin_half_packet(struct victim *v)
{
  return half_query(&v->half, &v->c, &v->b, "SELECT 'answered'") && wait_taken(v);
}

static bool send_rest(struct victim *v) { return half_query_rest(&v->half, &v->c, &v->b); }

static bool begin_blocked_write(struct victim *v)
{
  return send_query(v, "SELECT n.b FROM n STRAIGHT_JOIN n AS m") &&
    buffers_are_full(&v->c, now() + server.seconds) && wait_process(v, RUNS_QUERY);
}

static bool go_on_reading(struct victim *v) { return !*v->c.error; }

static bool begin_tls_request(struct victim *v)
{
  return connection_request_tls(&v->c) && wait_taken(v);
}

static bool begin_tls_half(struct victim *v)
{
  return half_hello(&v->half, &v->c) && wait_taken(v);
}

static bool begin_tls_hello(struct victim *v) { return hello_is_answered(&v->c, server.seconds); }

static bool log_in(struct victim *v)
{
  return send_login(&v->c) && connection_logged_in(&v->c) && ask_something(v);
}

static bool finish_tls(struct victim *v) { return hello_rest(&v->half, &v->c) && log_in(v); }

static bool begin_greeted(struct victim *v)
{
  (void) v;
  return true;
}

static bool begin_half_login(struct victim *v)
{
  return half_login(&v->half, &v->c) && wait_taken(v);
}

static bool finish_login(struct victim *v)
{
  return half_login_rest(&v->half, &v->c) && ask_something(v);
}

static bool begin_auth_switch(struct victim *v) { return login_is_asked(&v->c); }
static bool answer_switch(struct victim *v) { return login_answers(&v->c) && ask_something(v); }

static bool begin_row_lock(struct victim *v)
{
  /* INNODB_TRX shows to who asks all the time what was there long ago. */
  must(&control, "SELECT variable_value INTO @waits FROM information_schema.global_status "
       "WHERE variable_name='innodb_row_lock_current_waits'");
  return send_query(v, "SELECT id FROM t WHERE id=1 FOR UPDATE") &&
    wait_control("SELECT variable_value>@waits FROM information_schema.global_status "
                 "WHERE variable_name='innodb_row_lock_current_waits'", "1");
}

static bool begin_metadata_lock(struct victim *v)
{
  return send_query(v, "LOCK TABLES m WRITE") &&
    wait_process(v, "state='Waiting for table metadata lock'");
}

static bool begin_user_lock(struct victim *v)
{
  return send_query(v, "SELECT GET_LOCK('" TEST_USER "', 1000)") &&
    wait_process(v, "state='User lock'");
}

static bool begin_sleep(struct victim *v)
{
  return send_query(v, "SELECT SLEEP(1000)") && wait_process(v, "state='User sleep'");
}

static bool begin_cpu(struct victim *v)
{
  return send_query(v, "SELECT COUNT(*) FROM n, n AS m, n AS o, n AS p WHERE n.b<>m.b") &&
    wait_process(v, RUNS_QUERY);
}

/* The second command waits in a buffer. */
static bool begin_pipelined(struct victim *v)
{
  batch_query(&v->b, "SELECT SLEEP(1000)", NULL);
  batch_query(&v->b, "SELECT 'answered'", NULL);
  return send_all(v) && wait_process(v, "state='User sleep'");
}

/* The first command has been answered, half of the second was in the same envelope. */
static bool begin_pipelined_half(struct victim *v)
{
  struct bytes answer= {0};
  batch_query(&v->b, "SELECT 'first'", NULL);
  batch_query(&v->b, "SELECT 'answered'", NULL);
  const struct step *second= &v->b.steps[1];
  bool done= send_part(&v->c, &v->b, (second->from + second->to) / 2) &&
    answer_read(&v->c, ANSWER_TEXT, &answer) && !strcmp(bytes_text(&answer), "first") &&
    wait_taken(v);
  bytes_free(&answer);
  return done;
}

/* The server has asked for the file, and got its beginning. */
static bool begin_load_data(struct victim *v)
{
  batch_query(&v->b, "LOAD DATA LOCAL INFILE 'rows' INTO TABLE l", NULL);
  batch_data(&v->b, "1\n2\n", 4, NULL);
  return send_all(v) && connection_read(&v->c) && v->c.packet.length &&
    v->c.packet.data[0] == 251 && wait_taken(v);
}

static bool end_file(struct victim *v)
{
  /* With more of it: who has read all looks no more whether it was killed. */
  batch_data(&v->b, "3\n", 2, NULL);
  batch_data(&v->b, NULL, 0, NULL);
  return send_all(v);
}

#define NO_STATEMENT "-no statement runs"
#define NOT_IDLE "-a statement runs"
#define NO_TRANSACTION "-no transaction"
#define NOTHING_READ "-the server doesn't read"
#define NOTHING_WRITTEN "-the server doesn't write"
#define LOGGED_IN "-it has logged in"
#define NOT_LOGGED_IN "-it has not logged in"
#define NO_USER "-no user yet"
#define NO_READ_TIMEOUT "-wait_timeout counts"
#define PACKET_BEGUN "-net_read_timeout counts"

#define RUNS \
  {"1927 closed", "1317", "1927 closed", "1053 closed", NOT_IDLE, NOT_IDLE, NOT_IDLE, "1969", \
   NOTHING_READ, NOTHING_WRITTEN, LOGGED_IN}
#define LOGS_IN \
  {"1927 closed", "stays", NO_USER, "closed", NOT_LOGGED_IN, NOT_LOGGED_IN, \
   NOT_LOGGED_IN, NOT_LOGGED_IN, NOT_LOGGED_IN, NOT_LOGGED_IN, "closed"}
#define IN_HANDSHAKE \
  {"closed", "stays", NO_USER, "closed", NOT_LOGGED_IN, NOT_LOGGED_IN, \
   NOT_LOGGED_IN, NOT_LOGGED_IN, NOT_LOGGED_IN, NOT_LOGGED_IN, "closed"}
#define HALF \
  {"1927 closed", "stays", "1927 closed", "closed", PACKET_BEGUN, PACKET_BEGUN, \
   PACKET_BEGUN, NO_STATEMENT, "closed", NOTHING_WRITTEN, LOGGED_IN}

static const struct state STATES[]=
{
  {"idle", begin_idle, ask_something, false, false, false,
   {"1927 closed", "stays", "1927 closed", "closed", "closed", "closed",
    NO_TRANSACTION, NO_STATEMENT, NO_READ_TIMEOUT, NOTHING_WRITTEN, LOGGED_IN}},
  {"idle in a transaction", begin_transaction, ask_something, false, false, false,
   {"1927 closed", "stays", "1927 closed", "closed", "closed", "closed",
    "closed", NO_STATEMENT, NO_READ_TIMEOUT, NOTHING_WRITTEN, LOGGED_IN}},
  {"queued", begin_queued, leave_queue, false, false, true,
   {"1927 closed", "stays", "1927 closed", "closed", "-it has sent something",
    "-it has sent something", NO_TRANSACTION, "-the statement has not begun",
    "-nothing is missing", NOTHING_WRITTEN, LOGGED_IN}},
  {"half a header", begin_half_header, send_rest, false, false, false, HALF},
  {"half a packet", begin_half_packet, send_rest, false, false, false, HALF},
  {"blocked in write", begin_blocked_write, go_on_reading, false, true, false,
   {"closed", "later 1317", "closed", "closed", NOT_IDLE, NOT_IDLE, NOT_IDLE, "later 1969",
    NOTHING_READ, "closed", LOGGED_IN}},
  {"greeted", begin_greeted, log_in, true, false, false, LOGS_IN},
  {"half a login", begin_half_login, finish_login, true, false, false, LOGS_IN},
  {"auth switch", begin_auth_switch, answer_switch, true, false, false, LOGS_IN},
  {"TLS requested", begin_tls_request, finish_tls, true, false, false, IN_HANDSHAKE},
  {"half a TLS hello", begin_tls_half, finish_tls, true, false, false, IN_HANDSHAKE},
  {"TLS hello answered", begin_tls_hello, finish_tls, true, false, false, IN_HANDSHAKE},
  {"row lock", begin_row_lock, NULL, false, false, false, RUNS},
  {"metadata lock", begin_metadata_lock, NULL, false, false, false,
   RUNS},
  /* GET_LOCK() is NULL then, see its description. */
  {"user lock", begin_user_lock, NULL, false, false, false,
   {"answered closed", "answered", "answered closed", "answered closed", NOT_IDLE, NOT_IDLE,
    NOT_IDLE, "answered", NOTHING_READ, NOTHING_WRITTEN, LOGGED_IN}},
  {"SLEEP", begin_sleep, NULL, false, false, false, RUNS},
  {"pipelined", begin_pipelined, NULL, false, false, false, RUNS},
  {"pipelined, half", begin_pipelined_half, send_rest, false, false, false, HALF},
  {"LOAD DATA LOCAL", begin_load_data, end_file, false, false, false,
   {"1927 closed", "later 1317", "1927 closed", "1053 closed", NOT_IDLE, NOT_IDLE, NOT_IDLE,
    "later 1969", "closed", NOTHING_WRITTEN, LOGGED_IN}},
  /* The last one: those who come after it would be slow. */
  {"on CPU", begin_cpu, NULL, false, false, false, RUNS},
};

static bool is_pipelined(const struct state *s) { return s->begin == begin_pipelined; }

static bool is_in_handshake(const struct state *s)
{
  return s->begin == begin_tls_request || s->begin == begin_tls_half ||
    s->begin == begin_tls_hello;
}

/* Whether there is such a cell. */
static bool makes_sense(const struct state *s, const struct transport *t, enum ender e)
{
  if (s->wanted[e][0] == '-' || s->full_pool != with_queue)
    return false;
  if (t->compress && s->login)
    return false;               /* compression begins after the login */
  if (is_in_handshake(s) && !t->tls && !t->unix_socket)
    return false;
  return (!only_state || !strcmp(only_state, s->name)) &&
    (!only_transport || !strcmp(only_transport, t->name));
}

/* --- a victim ---------------------------------------------------------------------- */

/* What happened to it; may contain what was said before. */
static void __attribute__((format(printf, 2, 3))) say(struct victim *v, const char *format, ...)
{
  char text[sizeof(v->got)];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  memcpy(v->got, text, sizeof(text));
}

static bool wants_end(const struct victim *v) { return strstr(v->wanted, "closed"); }
static bool wants_later(const struct victim *v) { return !strncmp(v->wanted, "later", 5); }
static bool wants_nothing(const struct victim *v) { return !strcmp(v->wanted, "stays"); }

/* As far as all states of its kind go: to the greeting, or logged in. */
static bool arrive(struct victim *v)
{
  const struct transport *t= v->transport;
  if (is_in_handshake(v->state))
    return connection_meet(&v->c, &server, t->unix_socket ? &UNIX_TLS : t);
  if (v->state->login)
    return connection_greet(&v->c, &server, t);
  return connection_open(&v->c, &server, t) && (!v->state->full_pool || grow_old(&v->c));
}

static bool set_timeout(struct victim *v, enum ender e)
{
  char query[80];
  if (v->state->login || e <= SHUTDOWN || e == INTERACTIVE_TIMEOUT)
    return true;
  snprintf(query, sizeof(query), "SET SESSION %s=%d", ENDER_NAMES[e], TIMEOUT);
  return run(v, query);
}

static void drop(struct victim *v)
{
  connection_drop(&v->c);
  batch_free(&v->b);
  half_free(&v->half);
}

/* A packet that is no error. */
static void take_packet(struct victim *v)
{
  const struct bytes *p= &v->c.packet;
  if (!v->in_result)
  {
    v->in_result= p->length && p->data[0] && p->data[0] < 251;
    v->answered= !v->in_result;
  }
  else if (p->length < 9 && p->data[0] == 254)
    v->answered= ++v->ends == 2;
  if (v->answered)
    v->told= now();
}

/* Without taking all of it: that may be much. */
static bool is_readable(const struct connection *c)
{
  struct pollfd fd= {.fd= c->fd, .events= POLLIN};
  return c->closed || connection_left(c) || poll(&fd, 1, 0) > 0;
}

/* Takes what has come; true if that was a packet or the end. */
static bool listen_to(struct victim *v)
{
  struct connection *c= &v->c;
  if (v->state->unread ? !is_readable(c) : !connection_has_more(c) && !c->closed)
    return false;
  /* What has begun comes whole. */
  c->deadline= now() + 2;
  if (connection_read(c))
  {
    if (c->packet.length >= 3 && c->packet.data[0] == 255)
    {
      v->code= (unsigned) read_int(c->packet.data + 1, 2);
      v->told= now();
    }
    else
      take_packet(v);
    return true;
  }
  if (c->closed)
    v->closed= now();
  return v->closed;
}

static bool is_done(const struct victim *v)
{
  if (*v->got || v->closed)
    return true;
  return !wants_end(v) && (v->told || v->answered);
}

/* Those of them whom the process list has. */
static void look_for(struct victim **list, unsigned count)
{
  struct bytes query= {0}, answer= {0};
  bytes_add_text(&query, "SELECT GROUP_CONCAT(id) FROM information_schema.processlist "
                 "WHERE id IN (0");
  unsigned asked= 0;
  for (unsigned i= 0; i < count; i++)
    if (!list[i]->gone && wants_end(list[i]))
    {
      bytes_printf(&query, ",%u", list[i]->c.id);
      asked++;
    }
  bytes_add_text(&query, ")");
  if (asked && ask(&control, bytes_text(&query), &answer))
    for (unsigned i= 0; i < count; i++)
    {
      struct victim *v= list[i];
      bool there= false;
      if (v->gone || !wants_end(v))
        continue;
      for (const char *at= bytes_text(&answer); at && !there; at= strchr(at, ','))
      {
        at+= *at == ',';
        there= strtoul(at, NULL, 10) == v->c.id;
      }
      /* Who has not logged in may never have been there. */
      if (!there && (v->closed || v->state->unread))
        v->gone= now();
    }
  bytes_free(&query);
  bytes_free(&answer);
}

/* Whether its client wants to read now. Who doesn't read does so when the server has let go. */
static bool listens(const struct victim *v, bool others_are_done)
{
  return !is_done(v) && !wants_nothing(v) && !wants_later(v) &&
    (!v->state->unread || v->gone || (server_is_gone && others_are_done));
}

static void wait_for_all(struct victim **list, unsigned count, double until)
{
  struct pollfd fds[VICTIMS_MAX];
  bool others_are_done= false;
  for (;;)
  {
    unsigned left= 0, others= 0;
    for (unsigned i= 0; i < count; i++)
    {
      struct victim *v= list[i];
      bool reads= listens(v, others_are_done);
      fds[i]= (struct pollfd) {.fd= reads ? v->c.fd : -1, .events= POLLIN};
      left+= reads || (wants_end(v) && !v->gone && !server_is_gone && !*v->got);
      others+= !v->state->unread && reads;
    }
    if ((!left && others_are_done) || now() > until)
      return;
    others_are_done= !others;
    if (poll(fds, count, 3) > 0)
      for (unsigned i= 0; i < count; i++)
        if (fds[i].revents)
          while (!is_done(list[i]) && listen_to(list[i])) {}
    if (!server_is_gone)
      look_for(list, count);
  }
}

/* Waits for an answer of the one. */
static void listen_until(struct victim *v, double seconds)
{
  double until= now() + seconds;
  while (!v->closed && !v->told && !v->answered && now() < until)
  {
    struct pollfd fd= {.fd= v->c.fd, .events= POLLIN};
    /* There may be something in our buffer. */
    while (!v->closed && !v->told && !v->answered && listen_to(v)) {}
    if (v->closed || v->told || v->answered)
      return;
    poll(&fd, 1, 10);
  }
}

static void describe(struct victim *v)
{
  if (*v->got)
    return;
  const char *end= v->closed ? (v->c.reset && !v->code ? "reset" : "closed") : "";
  if (v->code)
    say(v, "%u%s%s", v->code, *end ? " " : "", end);
  else if (v->answered)
    say(v, "answered%s%s", *end ? " " : "", end);
  else
    say(v, "%s", *end ? end : "nothing happens");
  if (wants_end(v) && v->closed && !v->gone && !server_is_gone && !v->state->login)
    say(v, "%s%s", v->got, ", but it is still in the process list");
  if (v->state->unread && wants_end(v) && !v->gone && !server_is_gone)
    say(v, "nothing happens");
}

/* What it does when it was not ended, or only its statement. */
static void afterwards(struct victim *v)
{
  struct bytes answer= {0};
  if (*v->got)
    return;
  if (wants_later(v) || wants_nothing(v))
  {
    if (!v->state->unread && listen_to(v))
    {
      describe(v);
      say(v, "%s%s", v->got, " at once");
      return;
    }
    double from= now();
    if (!v->state->go_on(v))
    {
      if (v->c.closed)
        say(v, "closed");
      else
        say(v, "%s", v->c.error);
      return;
    }
    listen_until(v, server.seconds);
    describe(v);
    if (wants_nothing(v) && !strcmp(v->got, "answered"))
    {
      strcpy(v->got, "stays");
      return;
    }
    v->ended_at= from;
    if (wants_nothing(v))
      return;
    say(v, "later %s", v->got);
  }
  else
    describe(v);
  if (v->closed || (!v->code && strcmp(v->wanted, "answered")))
    return;
  const char *query= is_pipelined(v->state) ? NULL : "SELECT 'answered'";
  connection_set_deadline(&v->c);
  if (query ? ask(&v->c, query, &answer) : answer_read(&v->c, ANSWER_TEXT, &answer))
  {
    if (strcmp(bytes_text(&answer), "answered"))
    {
      say(v, "%s, then %s", v->got, bytes_text(&answer));
    }
  }
  else
    say(v, "%s%s", v->got, ", then closed");
  bytes_free(&answer);
}

/* --- cells ---------------------------------------------------------------------------- */

struct cell
{
  struct victim v;
  enum ender ender;
  bool good;
};

static double ms(double from, double to) { return to ? 1000 * (to - from) : -1; }

static bool is_wanted(const struct victim *v, enum ender e)
{
  const char *got= v->got, *wanted= v->wanted;
  if (!strcmp(got, wanted))
    return true;
  if (e == SHUTDOWN && !strcmp(wanted, "1053 closed") && !strcmp(got, "1927 closed"))
    return true;
  /* OpenSSL writes nothing any more if it was reading in the very moment of the KILL. */
  if (v->transport->tls && !strcmp(wanted, "1927 closed") && !strcmp(got, "closed"))
    return true;
  /* No error is possible, or none is understood. */
  return !strcmp(wanted, "closed") && (!strcmp(got, "reset") || strstr(got, " closed"));
}

static void judge(struct cell *cell)
{
  struct victim *v= &cell->v;
  double client= ms(v->ended_at, v->told ? v->told : v->closed), gone= ms(v->ended_at, v->gone);
  if (v->state->unread && wants_end(v))
    client= gone;
  bool timeout= cell->ender > SHUTDOWN;
  cell->good= is_wanted(v, cell->ender);
  if (timeout && !wants_later(v) && !v->state->unread && client != -1 && client < -1000 * EARLY)
  {
    cell->good= false;
    say(v, "%s%s", v->got, ", too early");
  }
  if (v->state->unread && v->gone && client < 0)
    client= gone= 0;
  double worst= client > gone ? client : gone;
  if (limit_ms && worst > limit_ms + (timeout ? RESOLUTION : 0))
    cell->good= false;
  if (table)
  {
    fprintf(table, "%s\t%s\t%s\t%s\t%s\t%.0f\t%.0f\n", v->state->name, ENDER_NAMES[cell->ender],
            v->transport->name, v->wanted, v->got, client, gone);
    fflush(table);
  }
}

/* The cells of a state, all transports of it. */
static void report(struct cell *cells, unsigned count)
{
  struct bytes names= {0};
  bool good= true;
  if (!count)
    return;
  for (unsigned i= 0; i < count; i++)
  {
    judge(&cells[i]);
    good= good && cells[i].good;
    bytes_printf(&names, "%s%s", i ? ", " : "", cells[i].v.transport->name);
  }
  const struct victim *first= &cells[0].v;
  tap(good, "%s, %s: %s (%s)", ENDER_NAMES[cells[0].ender], first->state->name, first->wanted,
      bytes_text(&names));
  for (unsigned i= 0; i < count; i++)
    if (!cells[i].good)
      printf("#   %s: %s\n", cells[i].v.transport->name, cells[i].v.got);
  fflush(stdout);
  bytes_free(&names);
}

static void init_cell(struct cell *cell, const struct state *s, const struct transport *t,
                      enum ender e)
{
  *cell= (struct cell) {.ender= e};
  cell->v.state= s;
  cell->v.transport= t;
  cell->v.wanted= s->wanted[e];
  cell->v.c.fd= -1;
}

static void not_reached(struct victim *v, const char *where)
{
  const struct bytes *p= &v->c.packet;
  if (p->length > 3 && p->data[0] == 255 && !*v->c.error)
    say(v, "the state was not reached: %s: error %u", where, (unsigned) read_int(p->data + 1, 2));
  else
    say(v, "the state was not reached: %s%s%s", where,
           *v->c.error ? ": " : "", v->c.error);
}

/*
  On a busy machine a victim may be through before it is seen in its state, and a message
  may be lost with a reset. What does not come out as it should is tried again, unless
  it is measured; what never does, is a failure.
*/
static unsigned tries_of_cell(void) { return table ? 1 : 3; }

/* --- KILL: one after the other -------------------------------------------------------- */

static void kill_one(struct cell *cell)
{
  struct victim *v= &cell->v;
  struct bytes answer= {0};
  char query[80];
  if (!arrive(v))
    not_reached(v, "login");
  else if (!v->state->begin(v))
    not_reached(v, "begin");
  else
  {
    if (cell->ender == KILL_USER)
      snprintf(query, sizeof(query), "KILL USER " TEST_USER);
    else
      snprintf(query, sizeof(query), "%s %u", ENDER_NAMES[cell->ender], v->c.id);
    v->ended_at= now();
    if (!ask(&control, query, &answer))
      die(query, control.error);
    if (!strncmp(bytes_text(&answer), "error ", 6))
      say(v, "KILL says %s", bytes_text(&answer));
    else
    {
      wait_for_all(&v, 1, now() + server.seconds);
      afterwards(v);
    }
  }
  bytes_free(&answer);
  end_filler();
  drop(v);
  /* KILL USER is for one at a time. */
  wait_control("SELECT COUNT(*) FROM information_schema.processlist WHERE user='" TEST_USER "'",
               "0");
}

static void run_kills(void)
{
  static struct cell cells[COUNT(TRANSPORTS)];
  if (!with_queue)
    open_holder();
  for (enum ender e= KILL; e <= KILL_USER; e++)
    for (unsigned i= 0; i < COUNT(STATES); i++)
    {
      unsigned count= 0;
      if (only_ender && strcmp(only_ender, ENDER_NAMES[e]))
        continue;
      for (unsigned j= 0; j < COUNT(TRANSPORTS); j++)
        if (makes_sense(&STATES[i], &TRANSPORTS[j], e))
        {
          for (unsigned tries= 0; tries < tries_of_cell(); tries++)
          {
            init_cell(&cells[count], &STATES[i], &TRANSPORTS[j], e);
            kill_one(&cells[count]);
            if (is_wanted(&cells[count].v, e))
              break;
          }
          count++;
        }
      report(cells, count);
    }
  connection_close(&holder);
}

/* --- time-outs and shutdown: all at once ---------------------------------------------- */

static struct cell wave[VICTIMS_MAX];

static unsigned make_wave(enum ender e)
{
  unsigned count= 0;
  for (unsigned i= 0; i < COUNT(STATES); i++)
    for (unsigned j= 0; j < COUNT(TRANSPORTS); j++)
      if (makes_sense(&STATES[i], &TRANSPORTS[j], e))
      {
        if (count == VICTIMS_MAX)
          die("the table", "too large");
        init_cell(&wave[count++], &STATES[i], &TRANSPORTS[j], e);
      }
  return count;
}

static void begin_wave(unsigned count, enum ender e)
{
  /* Before them: a shutdown ends the last who came first, and locks have to be held until then. */
  if (!with_queue)
    open_holder();
  for (unsigned i= 0; i < count; i++)
  {
    struct victim *v= &wave[i].v;
    v->since= now();
    if (!arrive(v))
      not_reached(v, "login");
  }
  for (unsigned i= 0; i < count; i++)
  {
    struct victim *v= &wave[i].v;
    if (*v->got)
      continue;
    if (!set_timeout(v, e))
      not_reached(v, "SET");
    if (e != CONNECT_TIMEOUT)
      v->since= now();
    if (!*v->got && !v->state->begin(v))
      not_reached(v, "begin");
    /* It counts from when the last byte went; that is not long ago. */
    if (e == NET_WRITE_TIMEOUT)
      v->since= now();
  }
}

/* Returns whether all came out as they should. */
static bool end_wave(unsigned count)
{
  bool good= true;
  for (unsigned i= 0; i < count; i++)
  {
    afterwards(&wave[i].v);
    drop(&wave[i].v);
    good= good && is_wanted(&wave[i].v, wave[i].ender);
  }
  connection_drop(&holder);
  return good;
}

static void report_wave(unsigned count)
{
  unsigned from= 0;
  for (unsigned i= 1; i <= count; i++)
    if (i == count || wave[i].v.state != wave[from].v.state)
    {
      report(wave + from, i - from);
      from= i;
    }
}

/* Returns whether all came out as they should. */
static bool run_wave(unsigned count, enum ender e)
{
  struct victim *list[VICTIMS_MAX];
  double last= 0;
  begin_wave(count, e);
  for (unsigned i= 0; i < count; i++)
  {
    list[i]= &wave[i].v;
    list[i]->ended_at= list[i]->since + TIMEOUT;
    if (list[i]->ended_at > last)
      last= list[i]->ended_at;
  }
  wait_for_all(list, count, last + server.seconds);
  while (now() < last + AFTER_TIMEOUT)
    poll(NULL, 0, 10);
  return end_wave(count);
}

static void run_timeouts(void)
{
  char query[120];
  for (enum ender e= WAIT_TIMEOUT; e < ENDERS; e++)
  {
    bool global= e == INTERACTIVE_TIMEOUT || e == CONNECT_TIMEOUT;
    unsigned count= make_wave(e);
    if (!count || (only_ender && strcmp(only_ender, ENDER_NAMES[e])))
      continue;
    if (global)
    {
      snprintf(query, sizeof(query), "SET @save= @@GLOBAL.%s", ENDER_NAMES[e]);
      must(&control, query);
      snprintf(query, sizeof(query), "SET GLOBAL %s=%d", ENDER_NAMES[e], TIMEOUT);
      must(&control, query);
    }
    server.more_capabilities= e == INTERACTIVE_TIMEOUT ? INTERACTIVE : 0;
    for (unsigned tries= 1; !run_wave(count, e) && tries < tries_of_cell(); tries++)
      make_wave(e);
    report_wave(count);
    server.more_capabilities= 0;
    if (global)
    {
      snprintf(query, sizeof(query), "SET GLOBAL %s= @save", ENDER_NAMES[e]);
      must(&control, query);
    }
  }
}

/* The number of the server's process, or 0. */
static pid_t server_process(void)
{
  struct bytes answer= {0};
  int pid= 0;
  if (ask(&control, "SELECT @@pid_file", &answer))
  {
    FILE *f= fopen(bytes_text(&answer), "r");
    if (f)
    {
      if (fscanf(f, "%d", &pid) != 1)
        pid= 0;
      fclose(f);
    }
  }
  bytes_free(&answer);
  return pid;
}

static bool process_is_there(pid_t pid)
{
  char path[40], state= 'Z';
  snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
  FILE *f= fopen(path, "r");
  if (!f)
    return false;
  bool read= fscanf(f, "%*d (%*[^)]) %c", &state) == 1;
  fclose(f);
  return read && state != 'Z';
}

static void run_shutdown(void)
{
  struct victim *list[VICTIMS_MAX];
  unsigned count= make_wave(SHUTDOWN);
  if (only_ender && strcmp(only_ender, ENDER_NAMES[SHUTDOWN]))
    return;
  pid_t pid= server_process();
  begin_wave(count, SHUTDOWN);
  double at= now();
  for (unsigned i= 0; i < count; i++)
  {
    list[i]= &wave[i].v;
    list[i]->ended_at= at;
  }
  must(&control, "SHUTDOWN");
  server_is_gone= true;
  wait_for_all(list, count, now() + server.seconds);
  double until= now() + server.seconds;
  while (pid && process_is_there(pid) && now() < until)
    poll(NULL, 0, 5);
  if (table)
    fprintf(table, "the server\tshutdown\t\tends\t%s\t%.0f\t-1\n",
            pid && process_is_there(pid) ? "goes on" : "ends", ms(at, now()));
  bool good= !pid || !process_is_there(pid);
  end_filler();
  end_wave(count);
  report_wave(count);
  tap(good, "shutdown: the server ends");
}

/* --- main ------------------------------------------------------------------------------- */

static void clean_up(void)
{
  must(&control, "DROP DATABASE IF EXISTS " TEST_USER);
  must(&control, "DROP USER IF EXISTS " TEST_USER "@localhost, " TEST_USER "@127.0.0.1, "
       FILLER_USER "@localhost");
  must(&control, "SET GLOBAL local_infile= @local_infile");
}

static void prepare(void)
{
  server_for(&server, &admin, TEST_USER);
  holder.fd= filler.fd= -1;
  open_control(&control);
  must(&control, "SET @local_infile= @@GLOBAL.local_infile");
  must(&control, "SET SESSION sql_log_bin= 0");
}

static void make_tables(void)
{
  must(&control, "CREATE OR REPLACE DATABASE " TEST_USER);
  must(&control, "CREATE TABLE " TEST_USER ".t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB");
  must(&control, "INSERT INTO " TEST_USER ".t VALUES (1,1)");
  must(&control, "CREATE TABLE " TEST_USER ".m (id INT PRIMARY KEY) ENGINE=InnoDB");
  must(&control, "CREATE TABLE " TEST_USER ".l (id INT) ENGINE=InnoDB");
  must(&control, "CREATE TABLE " TEST_USER ".n (b VARCHAR(4000) NOT NULL) ENGINE=InnoDB");
  must(&control, "INSERT INTO " TEST_USER ".n VALUES ('')");
  for (unsigned i= 0; i < 10; i++)
    must(&control, "INSERT INTO " TEST_USER ".n SELECT '' FROM " TEST_USER ".n");
  /* Long ones that can't be compressed much. */
  must(&control, "UPDATE " TEST_USER ".n SET b= CONCAT(SHA2(RAND(), 512), SHA2(RAND(), 512), "
       "SHA2(RAND(), 512), SHA2(RAND(), 512), SHA2(RAND(), 512), SHA2(RAND(), 512), "
       "SHA2(RAND(), 512), SHA2(RAND(), 512), SHA2(RAND(), 512), SHA2(RAND(), 512), "
       "SHA2(RAND(), 512), SHA2(RAND(), 512), SHA2(RAND(), 512), SHA2(RAND(), 512))");
  must(&control, "CREATE OR REPLACE USER " TEST_USER "@localhost IDENTIFIED BY '" TEST_USER "', "
       TEST_USER "@127.0.0.1 IDENTIFIED BY '" TEST_USER "', "
       FILLER_USER "@localhost IDENTIFIED BY '" TEST_USER "'");
  /* No administrators: the pool would favour them. */
  must(&control, "GRANT ALL ON " TEST_USER ".* TO " TEST_USER "@localhost, " TEST_USER
       "@127.0.0.1, " FILLER_USER "@localhost");
  must(&control, "SET GLOBAL local_infile= 1");
}

static void list_cells(void)
{
  for (unsigned i= 0; i < COUNT(STATES); i++)
    for (enum ender e= 0; e < ENDERS; e++)
      printf("%s\t%s\t%s\n", STATES[i].name, ENDER_NAMES[e], STATES[i].wanted[e]);
}

static void __attribute__((noreturn)) usage(void)
{
  fprintf(stderr,
    "usage: tpmatrix --socket=FILE --port=N [OPTION]... [kills|timeouts|shutdown|clean]...\n"
    "       tpmatrix --list\n"
    "Brings connections into all kinds of states, ends them in all kinds of ways, and\n"
    "prints TAP. A database and a user \"" TEST_USER "\" are made; \"shutdown\" leaves them to\n"
    "\"clean\", after a restart.\n"
    "  --user=U --password=P   of one who is allowed everything (root, none)\n"
    "  --extra-port=N          for its connections; else the Unix socket\n"
    "  --queued                only those in the pool's queue: the pool has to have one\n"
    "                          group, and only one thread for statements\n"
    "  --seconds=N             after which something counts as not happening (10)\n"
    "  --limit-ms=N            what comes later than that is a failure\n"
    "  --table=FILE            what happened, and times in ms, as text with tabs: client,\n"
    "                          process list; -1: none\n"
    "  --state=S --transport=T --ender=E    only this one\n"
    "  --list                  the cells, and why some are none\n");
  exit(2);
}

int main(int argc, char **argv)
{
  static const struct option options[]=
  {
    SERVER_OPTIONS,
    {"extra-port", required_argument, NULL, 'x'},
    {"limit-ms", required_argument, NULL, 'm'},
    {"table", required_argument, NULL, 'T'},
    {"state", required_argument, NULL, 'S'},
    {"transport", required_argument, NULL, 'o'},
    {"ender", required_argument, NULL, 'e'},
    {"queued", no_argument, NULL, 'q'},
    {"list", no_argument, NULL, 'l'},
    {NULL, 0, NULL, 0}
  };
  int option;
  while ((option= getopt_long(argc, argv, "", options, NULL)) != -1)
    switch (option)
    {
    case 'x': extra_port= (unsigned) strtoul(optarg, NULL, 10); break;
    case 'm': limit_ms= (unsigned) strtoul(optarg, NULL, 10); break;
    case 'T':
      if (!(table= fopen(optarg, "a")))
        die(optarg, strerror(errno));
      break;
    case 'S': only_state= optarg; break;
    case 'o': only_transport= optarg; break;
    case 'e': only_ender= optarg; break;
    case 'q': with_queue= true; break;
    case 'l': list_cells(); return 0;
    default:
      if (!server_option(&admin, option))
        usage();
    }
  if (!server_is_known(&admin) || optind == argc)
    usage();
  signal(SIGPIPE, SIG_IGN);

  prepare();
  for (int i= optind; i < argc; i++)
  {
    if (!strcmp(argv[i], "clean"))
    {
      clean_up();
      continue;
    }
    make_tables();
    if (!strcmp(argv[i], "kills"))
      run_kills();
    else if (!strcmp(argv[i], "timeouts"))
      run_timeouts();
    else if (!strcmp(argv[i], "shutdown"))
      run_shutdown();
    else
      usage();
  }
  connection_close(&control);
  SSL_CTX_free(server.tls);
  if (table)
    fclose(table);
  return tap_end();
}
