/*
  Victims are brought into a state and ended there, in all ways. Who does not end, or
  does not stay usable after a KILL QUERY, is a failure. Beside them: hunters, who kill
  some of them at any moment; who changes the pool's variables (background.c); the load.
*/
#include "victim.h"

#include "../wire/peer.h"

#include <dirent.h>
#include <mysqld_error.h>
#include <openssl/err.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define INTERACTIVE 1024        /* the capability */
#define VICTIM_NAME "victim_%u"
#define FAILURES_SHOWN 100
/* More than there can be who have just decided to KILL QUERY. */
#define MARKERS 6
#define MARKER "marker"
#define PAUSE_OF_HUNTERS 100    /* ms, at most */

static const char *const ender_names[ENDERS]=
{
  "KILL CONNECTION", "KILL QUERY", "KILL USER",
  "wait_timeout", "interactive_timeout", "idle_transaction_timeout", "max_statement_time",
  "net_read_timeout", "net_write_timeout", "connect_timeout",
  "quit", "close", "reset", "end of writing"
};
static const char *const short_names[ENDERS]=
{
  "KILL", "QUERY", "USER", "wait", "inter", "idle_tx", "stmt", "read", "write", "connect",
  "quit", "close", "reset", "shut_wr"
};

struct victim *victims;
static unsigned victim_count;
static SSL_CTX *tls;
static _Atomic unsigned begun, done, victims_left;
static _Atomic unsigned failures;

/* What was done, for the table. */
static _Atomic unsigned by_cell[32][ENDERS], by_way[8], not_seen, twice, unknown_kills,
  hunted_before, hunted_in_state, hunts[8], after_stay;
static const char *const hunt_names[]=
{
  "KILL CONNECTION", "KILL HARD CONNECTION", "KILL SOFT CONNECTION", "KILL QUERY",
  "KILL SOFT QUERY", "KILL USER", "nobody there (1094)"
};

unsigned enders_so_far(void) { return atomic_load(&done); }
bool enders_are_done(void) { return victim_count && !atomic_load(&victims_left); }

static void __attribute__((format(printf, 2, 3)))
fail(struct victim *v, const char *format, ...)
{
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (atomic_fetch_add(&failures, 1) < FAILURES_SHOWN)
    check(false, "a victim", "%s, %s, %s%s: %s (connection %u)", v->state->name,
          ways[v->way].name, ender_names[v->ender], v->hunted ? ", hunted" : "", text, v->c.id);
}

/* --- enders ---------------------------------------------------------------------------- */

/* By the control connection; returns the number of the error. */
static unsigned kill_it(struct victim *v)
{
  uint32_t id= v->c.id;
  enum outcome o;
  if (v->ender == END_KILL_USER)
    o= run(v->w, "KILL %s USER %s", one_in(v->w, 4) ? "SOFT" : "HARD", v->server.user);
  else if (v->ender == END_KILL_QUERY)
    o= run(v->w, "KILL %s QUERY %u", one_in(v->w, 4) ? "SOFT" : "HARD", id);
  else
    o= run(v->w, "KILL %s %u", one_in(v->w, 4) ? "SOFT" : "HARD", id);
  return o == DONE ? 0 : o == LOST ? ~0u : mysql_errno(v->w->mysql);
}

static void leave(struct victim *v, enum ender how)
{
  struct linger at_once= {1, 0};
  switch (how) {
  case QUIT:
    /* In the middle of something the server could not tell that from data. */
    if (!*v->c.error && !v->c.closed && !is(v, LOGIN) && !v->half.rest.length &&
        v->b.sent == v->b.stream.length && !(v->loading && !v->load_ended))
    {
      batch_free(&v->b);
      batch_command(&v->b, 1, NULL, 0, ANSWER_TEXT, NULL);
      send_batch(v);
    }
    connection_close(&v->c);
    break;
  case RESET:
    setsockopt(v->c.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    connection_drop(&v->c);
    break;
  default:
    connection_drop(&v->c);
  }
}

static enum ender any_leave(struct victim *v)
{
  static const enum ender how[]= {QUIT, CLOSE, RESET};
  return how[below(v->w, 3)];
}

/* --- what its client sees --------------------------------------------------------------- */

/* Nothing happens, which is wrong whoever kills it. Other errors say what does. */
static bool is_late(const struct victim *v) { return !strncmp(v->c.error, "nothing came", 12); }

static void wait_until(struct victim *v, double until)
{
  v->c.deadline= until;
  v->c.seconds= until - now();
}

/*
  Reads to the end; false if that does not come within so many seconds. Who gets a long
  answer from a statement that was demoted, beside a load, has to wait for all of it.
*/
static bool hears_end(struct victim *v, double seconds)
{
  for (;;)
  {
    wait_until(v, now() + seconds);
    if (!connection_read(&v->c))
      return v->c.closed;
    victim_note(v);
    begin_call(v->w);
  }
}

static bool is_marker(const struct victim *v)
{
  const struct bytes *p= &v->c.packet;
  return p->length == sizeof(MARKER) && p->data[0] == sizeof(MARKER) - 1 &&
    !memcmp(p->data + 1, MARKER, sizeof(MARKER) - 1);
}

/* What the server says about it, and about the pool. */
static void show_server(struct victim *v)
{
  static const char *const about[]=
  {
    "SELECT @@thread_pool_size, @@thread_pool_max_threads",
    "SELECT group_id, connections, threads, active_threads, queue_length, is_stalled "
    "FROM information_schema.THREAD_POOL_GROUPS",
    "SELECT GROUP_CONCAT(connection_id) FROM information_schema.THREAD_POOL_QUEUES",
    "SELECT COUNT(*), command, state FROM information_schema.processlist GROUP BY 2, 3"
  };
  char query[200], rows[4000];
  snprintf(query, sizeof(query), "SELECT user, command, time_ms, state, info "
           "FROM information_schema.processlist WHERE id = %u", v->c.id);
  rows_of(v->w, query, rows, sizeof(rows));
  printf("    connection %u: %s\n", v->c.id, *rows ? rows : "gone now");
  for (unsigned i= 0; i < COUNT(about); i++)
  {
    rows_of(v->w, about[i], rows, sizeof(rows));
    printf("    %s\n", rows);
  }
}

static void gone(struct victim *v, double seconds, const char *after)
{
  if (census_wait(v->c.id, GONE, seconds))
    return;
  fail(v, "still in the process list %.0f s after %s", seconds, after);
  show_server(v);
}

/* What it was about to do is done; then a statement is answered. */
static bool is_usable(struct victim *v)
{
  double until= now() + ANSWER_LIMIT;
  if (v->state->go_on && !v->state->go_on(v))
    return false;
  batch_free(&v->b);
  for (unsigned i= 0; i < MARKERS; i++)
    batch_query(&v->b, "SELECT '" MARKER "'", NULL);
  if (!send_batch(v))
    return false;
  wait_until(v, until);
  do
  {
    if (!connection_read(&v->c))
      return false;
    victim_note(v);
  } while (!is_marker(v));
  return true;
}

static bool commit(struct victim *v)
{
  double until= now() + ANSWER_LIMIT;
  v->in_transfer= false;
  v->oks_wanted= 1;
  v->oks= 0;
  v->refused= false;
  transfer_is(v->w, v->transfer, MAYBE);
  if (!victim_query(v, "COMMIT"))
    return false;
  wait_until(v, until);
  while (!v->oks && !v->refused)
  {
    if (!connection_read(&v->c))
      return false;
    victim_note(v);
  }
  return true;
}

static void must_stay(struct victim *v, unsigned code)
{
  atomic_store(&v->prey, 0);
  double asked_at= v->asked_at;
  bool stayed= is_usable(v);
  /*
    Who waits for nothing else has it from nowhere else. SLEEP() is 1 without an error if
    it was too late before it began: upstream's.
  */
  if (stayed && is(v, INTERRUPTED) && !v->hunted && v->code != code && v->value != '1')
    fail(v, "its statement should end with error %u, not %u; after %.1f s, value %c", code, v->code,
         now() - asked_at, v->value ? v->value : '-');
  stayed= stayed && (!v->in_transfer || one_in(v->w, 2) || commit(v));
  if (stayed)
    atomic_fetch_add(&after_stay, 1);
  else if (!v->hunted || is_late(v))
    fail(v, "it has to stay usable: %s", *v->c.error ? v->c.error : "no answer");
  leave(v, any_leave(v));
  gone(v, OWN_END + LIMIT, "it left");
}

/*
  net_write_timeout begins when all buffers are full. That of the server's side holds
  megabytes, and a statement that was demoted has to fill it, beside a load.
*/
static void wait_unsent(struct victim *v)
{
  double grown_at= now();
  long before= 0;
  while (now() < grown_at + TIMEOUT_SECONDS + LIMIT && !census_wait(v->c.id, GONE, 0.1))
  {
    long unsent= peer_unsent(&v->c);
    if (unsent > before)
    {
      grown_at= now();
      begin_call(v->w);
    }
    before= unsent > 0 ? unsent : 0;
  }
}

static void must_end(struct victim *v, double seconds)
{
  if (!is(v, UNREAD) && !hears_end(v, seconds + LIMIT) && is_late(v))
    fail(v, "not ended: %s", v->c.error);
  if (v->ender == END_NET_WRITE_TIMEOUT)
    wait_unsent(v);
  gone(v, is(v, UNREAD) ? seconds + LIMIT : LIMIT, "its end was due");
  leave(v, CLOSE);
}

static void end_writing(struct victim *v)
{
  /* If TLS's good-bye comes in the middle of a record, the server may hang up before. */
  connection_end_writing(&v->c);
  ERR_clear_error();
  *v->c.error= 0;
  if (!hears_end(v, is(v, UNREAD) ? ANSWER_LIMIT : OWN_END + LIMIT))
    fail(v, "not ended: %s", v->c.error);
  else if (is(v, ASKED) && !v->packets && !v->hunted)
    fail(v, "no answer came before the end");
  gone(v, LIMIT, "its end");
  leave(v, CLOSE);
}

/* --- a round --------------------------------------------------------------------------------- */

static void end_by_kill(struct victim *v)
{
  unsigned code= kill_it(v);
  if (code == ER_NO_SUCH_THREAD && (is(v, LOGIN) || v->hunted))
  {
    /* Who logs in is not known by its number yet; the hunted may be gone. */
    atomic_fetch_add(&unknown_kills, 1);
    if (v->ender == END_KILL_QUERY)
      must_stay(v, 0);
    else
    {
      leave(v, any_leave(v));
      gone(v, OWN_END + LIMIT, "it left");
    }
    return;
  }
  if (code)
    fail(v, "KILL says %u", code);
  if (v->ender == END_KILL_QUERY)
  {
    must_stay(v, ER_QUERY_INTERRUPTED);
    return;
  }
  if (one_in(v->w, 3))
  {
    /* Others at the same time, and once more. */
    atomic_store(&v->prey, v->c.id);
    if (v->w->mysql)
      kill_it(v);
    atomic_fetch_add(&twice, 1);
  }
  must_end(v, 0);
}

static void end(struct victim *v)
{
  switch (v->ender) {
  case END_KILL: case END_KILL_QUERY: case END_KILL_USER:
    end_by_kill(v);
    break;
  case END_MAX_STATEMENT_TIME:
    /* Who reads lets it go on. */
    if (is(v, UNREAD))
      usleep((useconds_t) (1.5e6 * STATEMENT_SECONDS));
    must_stay(v, ER_STATEMENT_TIMEOUT);
    break;
  case END_CONNECT_TIMEOUT: must_end(v, CONNECT_SECONDS); break;
  case END_INTERACTIVE_TIMEOUT: must_end(v, INTERACTIVE_SECONDS); break;
  /* What is read in the middle of a statement is tried twice. */
  case END_NET_READ_TIMEOUT: must_end(v, 3 * TIMEOUT_SECONDS); break;
  case END_WAIT_TIMEOUT: case END_IDLE_TRANSACTION_TIMEOUT: case END_NET_WRITE_TIMEOUT:
    must_end(v, TIMEOUT_SECONDS);
    break;
  case END_WRITING: end_writing(v); break;
  default:
    leave(v, v->ender);
    gone(v, OWN_END + LIMIT, "it left");
  }
}

static void choose(struct victim *v)
{
  struct worker *w= v->w;
  unsigned all= 0, i;
  for (i= 0; i < state_count; i++)
    all+= states[i].weight;
  unsigned chosen= below(w, all);
  for (i= 0; chosen >= states[i].weight; i++)
    chosen-= states[i].weight;
  v->state= &states[i];
  do
    v->ender= below(w, ENDERS);
  while (!(v->state->enders & BIT(v->ender)));
  do
    v->way= below(w, way_count);
  while (is(v, HANDSHAKE) && !ways[v->way].tls);
  v->hunted= one_in(w, 4);
}

/* What comes in two parts is cut anywhere. */
static size_t any_part(void *worker, size_t size)
{
  return 1 + below(worker, (unsigned) size - 1);
}

static void set_up(struct victim *v, char *name, size_t size)
{
  snprintf(name, size, VICTIM_NAME, v->index);
  v->server= (struct server)
  {
    .socket= options.socket, .port= options.port, .user= v->hunted ? HUNTED_USER : name,
    .password= PASSWORD, .database= DATABASE, .tls= tls,
    .seconds= ANSWER_LIMIT, .patient= true,
    .more_capabilities= v->ender == END_INTERACTIVE_TIMEOUT ? INTERACTIVE : 0
  };
  v->c= (struct connection) {.fd= -1};
  v->b= (struct batch) {0};
  v->half= (struct half) {.first= any_part, .who= v->w};
  v->packets= v->oks= v->oks_wanted= v->code= 0;
  v->refused= v->in_transfer= v->not_now= v->loading= v->load_ended= false;
  v->transfer= 0;
}

static void missed(struct victim *v)
{
  /* What ends the hunted too early, or those whose time is short, is meant. */
  bool meant= v->hunted || v->ender == END_WAIT_TIMEOUT || v->ender == END_INTERACTIVE_TIMEOUT ||
    v->ender == END_IDLE_TRANSACTION_TIMEOUT;
  if (v->not_now && !v->hunted)
    atomic_fetch_add(&not_seen, 1);
  else if (!meant || (v->hunted && !v->not_now && is_late(v)))
    fail(v, "the state was not reached: %s", *v->c.error ? v->c.error : "an error");
  else
    atomic_fetch_add(&hunted_before, 1);
  leave(v, any_leave(v));
  if (v->c.id)
    gone(v, OWN_END + LIMIT, "it left");
}

/* What is known now about what it may have committed. */
static void note_results(struct victim *v)
{
  if (v->oks_wanted && v->oks >= v->oks_wanted)
    transfer_is(v->w, v->transfer, COMMITTED);
  if (v->load_ended && v->oks)
    v->loads++;
  else if (v->load_ended && !v->refused)
    v->loads_unknown++;
}

/* True if its ender was tried. */
static bool play(struct victim *v)
{
  char name[40];
  bool reached;
  choose(v);
  set_up(v, name, sizeof(name));
  atomic_store(&v->w->doing, v->state->name);
  begin_call(v->w);
  reached= victim_arrive(v) && victim_begin(v);
  begin_call(v->w);
  if (reached)
  {
    v->packets= v->oks= v->code= 0;
    v->value= 0;
    v->refused= false;
    end(v);
    atomic_fetch_add(&by_cell[v->state - states][v->ender], 1);
    atomic_fetch_add(&by_way[v->way], 1);
    if (v->hunted)
      atomic_fetch_add(&hunted_in_state, 1);
  }
  else
    missed(v);
  note_results(v);
  atomic_store(&v->prey, 0);
  atomic_store(&v->w->since, 0);
  batch_free(&v->b);
  half_free(&v->half);
  return reached;
}

static bool open_control(struct worker *w)
{
  return w->mysql || (session_open(w, BY_EXTRA_PORT, ADMIN_USER, "control") &&
                      run(w, "SET wait_timeout = 28800") == DONE);
}

void *victim_main(void *worker)
{
  struct worker *w= worker;
  struct victim *v= &victims[w->number - 1 - LOAD];
  v->w= w;
  while (atomic_load(&begun) < options.enders)
  {
    if (!open_control(w))
    {
      check(false, "extra_port answers", "%s", w->mysql ? mysql_error(w->mysql) : "no connection");
      pause_ms(w, 1000);
      continue;
    }
    atomic_fetch_add(&begun, 1);
    if (play(v))
      atomic_fetch_add(&done, 1);
    else
      atomic_fetch_sub(&begun, 1);
  }
  session_close(w);
  atomic_store(&w->doing, "done");
  atomic_fetch_sub(&victims_left, 1);
  return NULL;
}

/* --- hunters ------------------------------------------------------------------------------------- */

static void hunt(struct worker *w, uint32_t id)
{
  static const char *const how[]=
  {
    "KILL CONNECTION", "KILL HARD CONNECTION", "KILL SOFT CONNECTION", "KILL QUERY",
    "KILL SOFT QUERY"
  };
  unsigned i= below(w, COUNT(how));
  enum outcome o;
  if (one_in(w, 40))
  {
    i= COUNT(how);
    o= run(w, "KILL USER " HUNTED_USER);
  }
  else
    o= run(w, "%s %u", how[i], id);
  atomic_fetch_add(&kills, 1);
  if (o == DONE)
    atomic_fetch_add(&hunts[i], 1);
  else if (o == REFUSED)
    atomic_fetch_add(&hunts[COUNT(hunt_names) - 1], 1);
}

/* One by extra_port, which always has a thread, the others as anybody. */
void *hunter_main(void *worker)
{
  struct worker *w= worker;
  bool by_extra_port= w->number % 3 == 0;
  atomic_store(&w->doing, "hunter");
  while (!atomic_load(&stopping))
  {
    if (!w->mysql && !session_open(w, by_extra_port ? BY_EXTRA_PORT : below(w, TRANSPORTS),
                                   by_extra_port ? ADMIN_USER : CLIENT_USER, "hunter"))
    {
      pause_ms(w, 100);
      continue;
    }
    uint32_t id= atomic_load(&victims[below(w, victim_count)].prey);
    if (id)
    {
      pause_ms(w, 5);
      hunt(w, id);
      pause_ms(w, PAUSE_OF_HUNTERS);
    }
    else
      usleep(500);
    if (w->mysql && id && one_in(w, 200))
      session_close(w);
  }
  session_close(w);
  return NULL;
}

/* --- before --------------------------------------------------------------------------------------------- */

struct resources
{
  unsigned sockets, files, threads;
};
static struct resources at_first;
static bool sees_metadata_locks;
/* Has a lock of each kind all the time. */
static struct worker holder;
#define THREADS_CONNECTED "SELECT variable_value FROM information_schema.global_status " \
  "WHERE variable_name = 'THREADS_CONNECTED'"
/* With a connection by extra_port, which is counted or not. */
static char threads_connected[100];

static struct resources resources(void)
{
  struct resources r= {0};
  char path[400], target[100];
  snprintf(path, sizeof(path), "/proc/%d/fd", options.pid);
  DIR *d= opendir(path);
  struct dirent *e;
  while (d && (e= readdir(d)))
  {
    snprintf(path, sizeof(path), "/proc/%d/fd/%s", options.pid, e->d_name);
    ssize_t length= readlink(path, target, sizeof(target) - 1);
    if (length <= 0)
      continue;
    target[length]= 0;
    r.files++;
    r.sockets+= !strncmp(target, "socket:", 7);
  }
  if (d)
    closedir(d);
  snprintf(path, sizeof(path), "/proc/%d/task", options.pid);
  d= opendir(path);
  while (d && (e= readdir(d)))
    r.threads+= e->d_name[0] != '.';
  if (d)
    closedir(d);
  return r;
}

static void must(struct worker *w, const char *statement)
{
  if (run(w, "%s", statement) == DONE)
    return;
  check_errors();
  check(false, "the victims are made", "%s", statement);
  exit(1);
}

void enders_prepare(struct worker *control, unsigned count)
{
  static const char *const statements[]=
  {
    "CREATE TABLE " DATABASE ".noise (b VARCHAR(2000) NOT NULL) ENGINE=InnoDB CHARSET=latin1",
    "INSERT INTO " DATABASE ".noise SELECT CONCAT(SHA2(RAND(), 512), SHA2(RAND(), 512), "
    "SHA2(RAND(), 512), SHA2(RAND(), 512), SHA2(RAND(), 512), SHA2(RAND(), 512), "
    "SHA2(RAND(), 512), SHA2(RAND(), 512), SHA2(RAND(), 512), SHA2(RAND(), 512), "
    "SHA2(RAND(), 512), SHA2(RAND(), 512), SHA2(RAND(), 512), SHA2(RAND(), 512)) "
    "FROM " DATABASE ".big LIMIT 1000",
    "CREATE USER " HUNTED_USER " IDENTIFIED BY '" PASSWORD "'",
    "GRANT ALL ON " DATABASE ".* TO " HUNTED_USER
  };
  static const char *const locks[]=
  {
    "SET wait_timeout = 28800", "BEGIN", "SELECT v FROM hot WHERE id = 1 FOR UPDATE",
    "SELECT COUNT(*) FROM mdl", "SELECT GET_LOCK('" HELD_LOCK "', 0)"
  };
  victims= calloc(count, sizeof(*victims));
  if (!victims || !(tls= SSL_CTX_new(TLS_client_method())))
    abort();
  victim_count= count;
  atomic_store(&victims_left, count);
  if (!session_open(control, BY_SOCKET, "root", NULL))
    exit(1);
  for (unsigned i= 0; i < COUNT(statements); i++)
    must(control, statements[i]);
  for (unsigned i= 0; i < count; i++)
  {
    char statement[200];
    victims[i].index= i;
    snprintf(statement, sizeof(statement), "CREATE USER " VICTIM_NAME " IDENTIFIED BY '" PASSWORD
             "'; GRANT ALL ON " DATABASE ".* TO " VICTIM_NAME, i, i);
    must(control, statement);
  }
  sees_metadata_locks= !mysql_query(control->mysql, "INSTALL SONAME 'metadata_lock_info'");
  must(control, "FLUSH TABLES");
  session_close(control);
  usleep(200000);
  at_first= resources();
  if (!session_open(&holder, BY_EXTRA_PORT, ADMIN_USER, "control"))
    exit(1);
  rows_of(&holder, THREADS_CONNECTED, threads_connected, sizeof(threads_connected));
  for (unsigned i= 0; i < COUNT(locks); i++)
    must(&holder, locks[i]);
}

/* To be called when only the load and who controls are left. */
void enders_release(void) { session_close(&holder); }

/* --- afterwards --------------------------------------------------------------------------------------------- */

static void print_table(void)
{
  printf("what was done, states and enders:\n%-22s", "");
  for (unsigned e= 0; e < ENDERS; e++)
    printf("%8s", short_names[e]);
  putchar('\n');
  for (unsigned s= 0; s < state_count; s++)
  {
    printf("%-22s", states[s].name);
    for (unsigned e= 0; e < ENDERS; e++)
      if (states[s].enders & BIT(e))
        printf("%8u", atomic_load(&by_cell[s][e]));
      else
        printf("%8s", "-");
    putchar('\n');
  }
  for (unsigned i= 0; i < way_count; i++)
    printf("%s%s %u", i ? ", " : "by ", ways[i].name, atomic_load(&by_way[i]));
  printf("\nhunters: ");
  for (unsigned i= 0; i < COUNT(hunt_names); i++)
    printf("%s%s %u", i ? ", " : "", hunt_names[i], atomic_load(&hunts[i]));
  printf("\nof the victims, hunted in their state %u, before it %u; killed twice %u; usable afterwards "
         "%u; not known to KILL %u; not seen in their state %u\n",
         atomic_load(&hunted_in_state), atomic_load(&hunted_before), atomic_load(&twice),
         atomic_load(&after_stay), atomic_load(&unknown_kills), atomic_load(&not_seen));
}

/* With so many there is none that chance has left out. */
#define ENOUGH_FOR_ALL 5000

static void check_cells(void)
{
  char none[1000]= "";
  size_t used= 0;
  for (unsigned s= 0; s < state_count; s++)
    for (unsigned e= 0; e < ENDERS; e++)
      if (states[s].enders & BIT(e) && !atomic_load(&by_cell[s][e]) && used + 100 < sizeof(none))
        used+= (size_t) snprintf(none + used, 100, "%s: %s; ", states[s].name, ender_names[e]);
  if (options.enders >= ENOUGH_FOR_ALL)
    check(!used, "every state was ended in every way", "%s", none);
}

static void check_loads(struct worker *admin)
{
  char query[200], rows[100], wrong[1000]= "";
  size_t used= 0;
  for (unsigned i= 0; i < victim_count; i++)
  {
    snprintf(query, sizeof(query), "SELECT COUNT(*) FROM " DATABASE ".loaded WHERE client = %u",
             i + 1 + LOAD);
    rows_of(admin, query, rows, sizeof(rows));
    unsigned long long found= strtoull(rows, NULL, 10), low= victims[i].loads * ROWS_OF_LOAD,
      high= low + victims[i].loads_unknown * ROWS_OF_LOAD;
    if ((found < low || found > high || found % ROWS_OF_LOAD) && used + 100 < sizeof(wrong))
      used+= (size_t) snprintf(wrong + used, 100, "client %u: %s, should be %llu to %llu; ",
                               i + 1 + LOAD, rows, low, high);
  }
  check(!used, "LOAD DATA LOCAL left all rows or none", "%s", wrong);
}

/* Of its process: what was there before, but for what the server keeps on its own. */
static void check_resources(struct worker *admin)
{
  struct resources r= {0};
  run(admin, "FLUSH TABLES");
  run(admin, "SET @idle = @@GLOBAL.thread_pool_idle_timeout");
  run(admin, "SET GLOBAL thread_pool_idle_timeout = 1");
  for (unsigned i= 0; i < 600; i++)
  {
    r= resources();
    if (r.sockets == at_first.sockets + 1 && r.threads <= at_first.threads + 10)
      break;
    usleep(100000);
  }
  printf("the server's process: %u sockets, %u files, %u threads; before: %u, %u, %u\n", r.sockets,
         r.files, r.threads, at_first.sockets, at_first.files, at_first.threads);
  /* Ours is one. */
  check(r.sockets == at_first.sockets + 1, "no socket is left", "%u, should be %u", r.sockets,
        at_first.sockets + 1);
  /* Groups that there were for a while keep what they poll with; InnoDB has its own threads. */
  check(r.files <= at_first.files + 40, "no file is left open", "%u, there were %u", r.files,
        at_first.files);
  check(r.threads <= at_first.threads + 10, "no thread is left", "%u, there were %u", r.threads,
        at_first.threads);
  run(admin, "SET GLOBAL thread_pool_idle_timeout = @idle");
}

void check_enders(struct worker *admin)
{
  char query[300];
  print_table();
  check(!atomic_load(&failures), "every victim ended or stayed as it should", "%u did not",
        atomic_load(&failures));
  check_cells();
  check_transfers(admin);
  check_loads(admin);
  if (sees_metadata_locks)
    check_settles(admin, "no metadata lock is left",
                  "SELECT thread_id, lock_mode, table_name FROM information_schema.metadata_lock_info");
  check_settles(admin, "no lock of a name is left",
                "SELECT IS_USED_LOCK('" HELD_LOCK "') FROM " DATABASE ".hot WHERE id = 1 AND "
                "IS_USED_LOCK('" HELD_LOCK "') IS NOT NULL");
  snprintf(query, sizeof(query), THREADS_CONNECTED " AND variable_value <> '%s'", threads_connected);
  check_settles(admin, "Threads_connected is what it was", query);
  check_settles(admin, "nobody is in a queue",
                "SELECT group_id, connection_id FROM information_schema.THREAD_POOL_QUEUES");
  check_resources(admin);
  SSL_CTX_free(tls);
  free(victims);
}
