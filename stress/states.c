/* How a victim gets into each state. */
#include "victim.h"

#include "../wire/peer.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct transport ways[]=
{
  {"TCP", false, false, false},
  {"Unix socket", true, false, false},
  {"TLS", false, true, false},
  {"compression", false, false, true},
  {"TLS and compression", false, true, true},
  {"Unix socket and TLS", true, true, false}
};
const unsigned way_count= COUNT(ways);

/* --- speaking ------------------------------------------------------------------------ */

static void wrote(struct victim *v)
{
  v->asked_at= now();
  atomic_fetch_add(&v->w->statements, 1);
}

/* The commands so far, as far as the place; the rest for later. */
static bool send_to(struct victim *v, size_t to)
{
  bool done= send_part(&v->c, &v->b, to);
  wrote(v);
  return done;
}

bool send_batch(struct victim *v) { return send_to(v, v->b.stream.length); }

bool victim_query(struct victim *v, const char *query)
{
  batch_free(&v->b);
  batch_query(&v->b, query, NULL);
  return send_batch(v);
}

/* An answer that is no error. */
static bool answered(struct victim *v, enum answer_kind kind)
{
  struct bytes answer= {0};
  bool done= answer_read(&v->c, kind, &answer);
  if (done && !strncmp(bytes_text(&answer), "error ", 6))
  {
    done= false;
    snprintf(v->c.error, sizeof(v->c.error), "%s", bytes_text(&answer));
  }
  bytes_free(&answer);
  return done;
}

static bool ask(struct victim *v, const char *query)
{
  return victim_query(v, query) && answered(v, ANSWER_TEXT);
}

void victim_note(struct victim *v)
{
  const struct bytes *p= &v->c.packet;
  v->packets++;
  if (p->length == 2 && p->data[0] == 1)
    v->value= (char) p->data[1];
  if (p->length && p->data[0] == 0 && !v->refused)
    v->oks++;
  if (p->length >= 3 && p->data[0] == 255)
  {
    char text[100];
    int length= (int) p->length - 3;
    snprintf(text, sizeof(text), "%.*s", length > 80 ? 80 : length, p->data + 3);
    if (!v->code)
      v->code= (unsigned) read_int(p->data + 1, 2);
    count_error((unsigned) read_int(p->data + 1, 2), text);
    v->refused= true;
  }
}

/* Not for ever: a pool that is full has nobody to take it. That is a state too. */
static bool wait_taken(struct victim *v)
{
  for (unsigned i= 0; i < 50 && peer_unread(&v->c) > 0; i++)
    usleep(2000);
  return true;
}

/* --- logged in, without a statement ------------------------------------------------------- */

/*
  Who was ended before anybody saw it in its state has something to read. For a
  time-out of statements that is as it should be.
*/
static bool is_there(struct victim *v, enum seen what)
{
  double until= now() + ANSWER_LIMIT;
  struct pollfd fd= {.fd= v->c.fd, .events= POLLIN};
  do
  {
    if (census_wait(v->c.id, what, 0.1))
      return true;
    if (poll(&fd, 1, 0) == 1)
    {
      v->not_now= v->ender != END_MAX_STATEMENT_TIME;
      return !v->not_now;
    }
  } while (now() < until);
  snprintf(v->c.error, sizeof(v->c.error), "nothing came within %d s, and it is not there",
           ANSWER_LIMIT);
  return false;
}

static bool begin_idle(struct victim *v)
{
  return ask(v, "DO 0") && is_there(v, SLEEPING);
}

/* A whole transfer, but for its COMMIT; over accounts that are the victim's alone. */
static bool begin_transfer(struct victim *v)
{
  char text[600], *rest= text, *part;
  unsigned account= ACCOUNTS + 1 + 2 * v->index, which= below(v->w, 2);
  bool done= ask(v, "BEGIN");
  v->transfer= transfer_new(v->w, account + which, account + 1 - which, 1 + below(v->w, 100));
  transfer_text(v->w, v->transfer, text, sizeof(text));
  while (done && (part= strsep(&rest, ";")))
    done= ask(v, part);
  v->in_transfer= done;
  return done;
}

static bool begin_in_transaction(struct victim *v)
{
  return begin_transfer(v) && is_there(v, SLEEPING);
}

/* Asks again as long as there is a thread that answers at once. */
static bool begin_queued(struct victim *v)
{
  char query[200];
  snprintf(query, sizeof(query), "SELECT 1 FROM information_schema.THREAD_POOL_QUEUES "
           "WHERE connection_id=%u", v->c.id);
  for (unsigned tries= 0; tries < 300; tries++)
  {
    if (!victim_query(v, "SELECT 'queued'"))
      return false;
    struct pollfd fd= {.fd= v->c.fd, .events= POLLIN};
    while (!poll(&fd, 1, 0))
    {
      MYSQL_RES *result= NULL;
      if (mysql_query(v->w->mysql, query) || !(result= mysql_store_result(v->w->mysql)))
        return false;
      bool queued= mysql_num_rows(result);
      mysql_free_result(result);
      if (queued)
        return true;
    }
    if (!answered(v, ANSWER_TEXT))
      return false;
  }
  v->not_now= true;
  return false;
}

/* An envelope with some bytes of the command's header. */
static bool begin_half_header(struct victim *v)
{
  batch_query(&v->b, "SELECT 'header'", NULL);
  return send_to(v, 1 + below(v->w, 3)) && wait_taken(v);
}

/* What is on the wire ends anywhere, in the middle of an envelope too. */
static bool begin_half_packet(struct victim *v)
{
  return half_query(&v->half, &v->c, &v->b, "SELECT 'packet'") && wait_taken(v);
}

static bool send_rest(struct victim *v)
{
  bool done= half_query_rest(&v->half, &v->c, &v->b);
  wrote(v);
  return done;
}

/* The first command has been answered; a part of the second was in the same envelope. */
static bool begin_half_pipelined(struct victim *v)
{
  batch_query(&v->b, "SELECT 'first'", NULL);
  batch_query(&v->b, "SELECT 'second'", NULL);
  const struct step *second= &v->b.steps[1];
  size_t part= 1 + below(v->w, (unsigned) (second->to - second->from) - 1);
  return send_to(v, second->from + part) && answered(v, ANSWER_TEXT) && wait_taken(v);
}

/* --- statements ------------------------------------------------------------------------------ */

/* The row that the holder has, see enders.c. */
static bool begin_row_lock(struct victim *v)
{
  if (!victim_query(v, "SELECT v FROM hot WHERE id = 1 FOR UPDATE") || !is_there(v, IN_QUERY))
    return false;
  pause_ms(v->w, 30);
  return true;
}

static bool begin_metadata_lock(struct victim *v)
{
  return victim_query(v, "LOCK TABLES mdl WRITE") && is_there(v, IN_METADATA_LOCK);
}

static bool begin_user_lock(struct victim *v)
{
  return victim_query(v, "SELECT GET_LOCK('" HELD_LOCK "', " OWN_END_TEXT ")") &&
    is_there(v, IN_USER_LOCK);
}

static bool begin_sleep(struct victim *v)
{
  return victim_query(v, "SELECT SLEEP(" OWN_END_TEXT ")") && is_there(v, IN_SLEEP);
}

/* BENCHMARK() would end with an answer. */
#define ON_CPU "SELECT COUNT(*) FROM noise a, noise b, noise c, noise d WHERE a.b <> b.b"
static bool begin_cpu(struct victim *v)
{
  return victim_query(v, v->ender == END_MAX_STATEMENT_TIME ? ON_CPU :
                      "SET STATEMENT max_statement_time = " OWN_END_TEXT " FOR " ON_CPU) &&
    is_there(v, IN_QUERY);
}

/* More than all buffers hold; what it is can't be compressed much. */
static bool begin_blocked(struct victim *v)
{
  /* Who was ended meanwhile has it in the error that follows. */
  return victim_query(v, "SELECT a.b FROM noise a STRAIGHT_JOIN noise b LIMIT 10000") &&
    (buffers_are_full(&v->c, now() + (v->hunted ? 3 : ANSWER_LIMIT)) || v->hunted);
}

/* The second command waits in a buffer. */
static bool begin_pipelined(struct victim *v)
{
  batch_query(&v->b, "SELECT SLEEP(" OWN_END_TEXT ")", NULL);
  batch_query(&v->b, "SELECT 'pipelined'", NULL);
  return send_batch(v) && is_there(v, IN_SLEEP);
}

/* Many short ones: at any moment, between two of them too. */
static bool begin_pipeline(struct victim *v)
{
  for (unsigned n= 20 + below(v->w, 60); n; n--)
    batch_query(&v->b, one_in(v->w, 5) ? "SELECT SLEEP(0.005)" : "DO 1", NULL);
  if (!send_batch(v))
    return false;
  pause_ms(v->w, 40);
  return true;
}

/* The server has asked for the file, and got its beginning. */
static bool begin_load(struct victim *v)
{
  char row[40];
  batch_query(&v->b, "LOAD DATA LOCAL INFILE 'rows' INTO TABLE loaded", NULL);
  int length= snprintf(row, sizeof(row), "%u\tone\n%u\ttwo\n", v->w->number, v->w->number);
  batch_data(&v->b, row, (size_t) length, NULL);
  if (!send_batch(v) || !connection_read(&v->c))
    return false;
  if (!v->c.packet.length || v->c.packet.data[0] != 251)
  {
    victim_note(v);
    v->not_now= v->ender == END_MAX_STATEMENT_TIME;
    return false;
  }
  v->loading= true;
  return wait_taken(v);
}

static bool end_file(struct victim *v)
{
  char row[40];
  int length= snprintf(row, sizeof(row), "%u\tthree\n", v->w->number);
  batch_data(&v->b, row, (size_t) length, NULL);
  batch_data(&v->b, NULL, 0, NULL);
  v->load_ended= true;
  return send_batch(v);
}

/* Nobody knows whether the ender comes before, in or after it. */
static bool begin_commit(struct victim *v)
{
  char text[600], query[700];
  if (one_in(v->w, 2))
  {
    if (!begin_transfer(v))
      return false;
    v->in_transfer= false;
    v->oks_wanted= 1;
    transfer_is(v->w, v->transfer, MAYBE);
    if (!victim_query(v, "COMMIT"))
      return false;
  }
  else
  {
    unsigned account= ACCOUNTS + 1 + 2 * v->index;
    v->transfer= transfer_new(v->w, account, account + 1, 1 + below(v->w, 100));
    transfer_text(v->w, v->transfer, text, sizeof(text));
    snprintf(query, sizeof(query), "BEGIN; %s; COMMIT", text);
    v->oks_wanted= 5;
    transfer_is(v->w, v->transfer, MAYBE);
    if (!victim_query(v, query))
      return false;
  }
  usleep(below(v->w, 6000));
  return true;
}

/* --- login ----------------------------------------------------------------------------------------- */

static bool begin_greeted(struct victim *v)
{
  (void) v;
  return true;
}

static bool log_in(struct victim *v)
{
  bool done= send_login(&v->c);
  wrote(v);
  return done && connection_logged_in(&v->c);
}

static bool begin_half_login(struct victim *v)
{
  bool done= half_login(&v->half, &v->c);
  wrote(v);
  return done && wait_taken(v);
}

static bool finish_login(struct victim *v)
{
  wrote(v);
  return half_login_rest(&v->half, &v->c);
}

static bool begin_auth_switch(struct victim *v)
{
  wrote(v);
  return login_is_asked(&v->c);
}

static bool answer_switch(struct victim *v)
{
  wrote(v);
  return login_answers(&v->c);
}

static bool begin_tls_request(struct victim *v)
{
  connection_set_deadline(&v->c);
  return connection_request_tls(&v->c) && wait_taken(v);
}

static bool begin_half_hello(struct victim *v)
{
  return half_hello(&v->half, &v->c) && wait_taken(v);
}

static bool begin_hello(struct victim *v) { return hello_is_answered(&v->c, ANSWER_LIMIT); }

static bool finish_tls(struct victim *v) { return hello_rest(&v->half, &v->c) && log_in(v); }

/* GET_LOCK() is NULL when it is interrupted, no error. */

/* --- all of them ---------------------------------------------------------------------------------------- */

#define LEAVES (BIT(QUIT) | BIT(CLOSE) | BIT(RESET) | BIT(END_WRITING))
#define KILLS (BIT(END_KILL) | BIT(END_KILL_QUERY) | BIT(END_KILL_USER))
#define RUNS (KILLS | LEAVES | BIT(END_MAX_STATEMENT_TIME))
#define HALF (KILLS | LEAVES | BIT(END_NET_READ_TIMEOUT))
#define LOGS_IN (LEAVES | BIT(END_KILL) | BIT(END_KILL_QUERY) | BIT(END_CONNECT_TIMEOUT))
#define IDLE (KILLS | LEAVES | BIT(END_WAIT_TIMEOUT) | BIT(END_INTERACTIVE_TIMEOUT))

const struct state states[]=
{
  {"idle", 10, begin_idle, NULL, IDLE, 0},
  {"idle in a transaction", 15, begin_in_transaction, NULL,
   IDLE | BIT(END_IDLE_TRANSACTION_TIMEOUT), 0},
  {"queued", 10, begin_queued, NULL, KILLS | LEAVES, ASKED},
  {"half a header", 10, begin_half_header, send_rest, HALF, 0},
  {"half a packet", 10, begin_half_packet, send_rest, HALF, 0},
  {"half of the second", 10, begin_half_pipelined, send_rest, HALF, 0},
  {"blocked in write", 10, begin_blocked, NULL, RUNS | BIT(END_NET_WRITE_TIMEOUT),
   UNREAD | ASKED | INTERRUPTED},
  {"greeted", 6, begin_greeted, log_in, LOGS_IN, LOGIN},
  {"half a login", 6, begin_half_login, finish_login, LOGS_IN, LOGIN},
  {"auth switch", 6, begin_auth_switch, answer_switch, LOGS_IN, LOGIN},
  {"TLS requested", 6, begin_tls_request, finish_tls, LOGS_IN, LOGIN | HANDSHAKE},
  {"half a TLS hello", 6, begin_half_hello, finish_tls, LOGS_IN, LOGIN | HANDSHAKE},
  {"TLS hello answered", 6, begin_hello, finish_tls, LOGS_IN, LOGIN | HANDSHAKE},
  {"row lock", 10, begin_row_lock, NULL, RUNS, ASKED | INTERRUPTED},
  {"metadata lock", 10, begin_metadata_lock, NULL, RUNS, ASKED | INTERRUPTED},
  {"user lock", 10, begin_user_lock, NULL, RUNS, ASKED},
  {"SLEEP", 10, begin_sleep, NULL, RUNS, ASKED | INTERRUPTED},
  {"on CPU", 5, begin_cpu, NULL, RUNS, ASKED | INTERRUPTED},
  {"pipelined", 10, begin_pipelined, NULL, RUNS, ASKED | INTERRUPTED},
  {"in a pipeline", 15, begin_pipeline, NULL, KILLS | LEAVES, ASKED},
  {"LOAD DATA LOCAL", 10, begin_load, end_file, HALF | BIT(END_MAX_STATEMENT_TIME), 0},
  {"around COMMIT", 25, begin_commit, NULL, KILLS | LEAVES, ASKED}
};
const unsigned state_count= COUNT(states);

static bool set_timeout(struct victim *v)
{
  static const char *const names[ENDERS]=
  {
    [END_WAIT_TIMEOUT]= "wait_timeout", [END_IDLE_TRANSACTION_TIMEOUT]= "idle_transaction_timeout",
    [END_NET_READ_TIMEOUT]= "net_read_timeout", [END_NET_WRITE_TIMEOUT]= "net_write_timeout"
  };
  char query[100];
  if (v->ender == END_MAX_STATEMENT_TIME)
  {
    snprintf(query, sizeof(query), "SET max_statement_time = %g", STATEMENT_SECONDS);
    return ask(v, query);
  }
  if (!names[v->ender])
    return true;
  snprintf(query, sizeof(query), "SET SESSION %s = %d", names[v->ender], TIMEOUT_SECONDS);
  return ask(v, query);
}

bool victim_arrive(struct victim *v)
{
  if (!connection_meet(&v->c, &v->server, &ways[v->way]))
    return false;
  atomic_store(&v->w->id, v->c.id);
  if (v->hunted)
    atomic_store(&v->prey, v->c.id);
  if (is(v, HANDSHAKE))
    return true;
  connection_set_deadline(&v->c);
  if (ways[v->way].tls && !(connection_request_tls(&v->c) && connection_finish_tls(&v->c)))
    return false;
  return is(v, LOGIN) || (log_in(v) && set_timeout(v));
}

bool victim_begin(struct victim *v)
{
  batch_free(&v->b);
  return v->state->begin(v);
}
