#include "sample.h"

#include "connection.h"
#include "model.h"
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <mysqld_error.h>

/*
  To ask who holds locks costs the server much if thousands wait: it stands still
  for InnoDB while its list is made. So this takes 1/20 of the time at most.
*/
#define HOLDERS_SHARE 20

enum table { GROUPS, GATE, QUEUES, HISTOGRAM, WAITS, PROCESSES, TRX, LOCK_WAITS, TABLES };
static const char *const table_names[TABLES]=
{
  "THREAD_POOL_GROUPS", "THREAD_POOL_GATE", "THREAD_POOL_QUEUES",
  "THREAD_POOL_HISTOGRAM", "THREAD_POOL_WAITS", "PROCESSLIST", "INNODB_TRX",
  "INNODB_LOCK_WAITS"
};

#define MOST_COLUMNS 64

struct reader
{
  bool knows_columns, may_see_all;
  unsigned column_count[TABLES];
  char columns[TABLES][MOST_COLUMNS][64];
  double holders_from;          /* not asked before that time */
  struct holder holders[HOLDERS_SHOWN];
  unsigned holder_count;
};

struct reader *reader_create(void) { return calloc(1, sizeof(struct reader)); }
void reader_destroy(struct reader *reader) { free(reader); }

void reader_forget(struct reader *reader)
{
  if (reader)
    memset(reader, 0, sizeof(*reader));
}

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

/* --- values of a row -------------------------------------------------------------- */

static int64_t number(const char *text)
{
  int64_t value= UNKNOWN;
  if (!parse_number(text, &value) || value < 0)
    return UNKNOWN;
  return value;
}

/* "1234.567" ms as us. */
static int64_t milliseconds(const char *text)
{
  double seconds;
  if (!parse_seconds(text, 0, 1e15, &seconds))
    return UNKNOWN;
  return (int64_t) (seconds * 1000);
}

static void clean(char *to, size_t size, const char *text)
{
  text_clean(to, size, text, text ? strlen(text) : 0);
}

/* --- what the server has ------------------------------------------------------------ */

static bool has(const struct reader *r, enum table table)
{
  return r->column_count[table] != 0;
}

static bool has_column(const struct reader *r, enum table table, const char *name)
{
  for (unsigned i= 0; i < r->column_count[table]; i++)
    if (!strcasecmp(r->columns[table][i], name))
      return true;
  return false;
}

static void note_column(struct reader *r, const char *table, const char *column)
{
  for (unsigned i= 0; table && column && i < TABLES; i++)
    if (!strcasecmp(table, table_names[i]) && r->column_count[i] < MOST_COLUMNS)
      snprintf(r->columns[i][r->column_count[i]++], sizeof(r->columns[i][0]), "%s",
               column);
}

static bool learn_columns(struct reader *r, struct connection *c)
{
  char query[1024];
  int length= snprintf(query, sizeof(query),
    "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS "
    "WHERE TABLE_SCHEMA = 'information_schema' AND TABLE_NAME IN (");
  for (unsigned i= 0; i < TABLES; i++)
    length+= snprintf(query + length, sizeof(query) - (size_t) length, "%s'%s'",
                      i ? ", " : "", table_names[i]);
  snprintf(query + length, sizeof(query) - (size_t) length, ")");
  MYSQL_RES *result= connection_query(c, query);
  MYSQL_ROW row;
  if (!result)
    return false;
  while ((row= mysql_fetch_row(result)))
    note_column(r, row[0], row[1]);
  mysql_free_result(result);
  r->knows_columns= true;
  return true;
}

/* InnoDB's tables refuse who lacks it; the process list only shows less then. */
static bool learn_privilege(struct reader *r, struct connection *c)
{
  MYSQL_RES *result;
  r->may_see_all= true;
  if (has(r, TRX))
  {
    result= connection_query(c, "SELECT 1 FROM information_schema.INNODB_TRX LIMIT 1");
    if (!result && c->mysql)
      r->may_see_all= c->error_code != ER_SPECIFIC_ACCESS_DENIED_ERROR;
  }
  else
  {
    result= connection_query(c, "SELECT 1 FROM information_schema.USER_PRIVILEGES "
                                "WHERE PRIVILEGE_TYPE = 'PROCESS' LIMIT 1");
    r->may_see_all= result && mysql_num_rows(result);
  }
  if (result)
    mysql_free_result(result);
  return c->mysql != NULL;
}

/* --- status and variables ------------------------------------------------------------- */

struct named_number
{
  const char *name;
  int64_t *to;
};

static bool read_status(struct sample *s, struct connection *c)
{
  int64_t limit= UNKNOWN;
  const struct named_number wanted[]=
  {
    {"Uptime", &s->uptime}, {"Threads_connected", &s->connections},
    {"Threads_running", &s->running}, {"Threadpool_threads", &s->threads},
    {"Threadpool_reserve_threads", &s->reserve},
    {"Threadpool_exempt_threads", &s->exempt},
    {"Threadpool_oldest_waiter_us", &s->oldest_us},
    {"Threadpool_transactions_limit", &limit},
  };
  MYSQL_RES *result= connection_query(c,
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('Uptime', 'Threads_connected', "
    "'Threads_running', 'Threadpool_threads', 'Threadpool_reserve_threads', "
    "'Threadpool_exempt_threads', 'Threadpool_oldest_waiter_us', "
    "'Threadpool_transactions_limit')");
  MYSQL_ROW row;
  if (!result)
    return false;
  while ((row= mysql_fetch_row(result)))
    for (unsigned i= 0; row[0] && i < sizeof(wanted) / sizeof(*wanted); i++)
      if (!strcasecmp(row[0], wanted[i].name))
        *wanted[i].to= number(row[1]);
  mysql_free_result(result);
  s->gate_limit= limit;
  return true;
}

static bool read_variables(struct sample *s, struct connection *c)
{
  char host[64]= "-", port[16]= "";
  MYSQL_RES *result= connection_query(c,
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'hostname', 'port', "
    "'extra_port', 'max_connections', 'thread_handling', 'thread_pool_max_threads')");
  MYSQL_ROW row;
  if (!result)
    return false;
  while ((row= mysql_fetch_row(result)))
  {
    const char *name= row[0] ? row[0] : "";
    if (!strcasecmp(name, "version"))
      clean(s->version, sizeof(s->version), row[1]);
    else if (!strcasecmp(name, "hostname"))
      clean(host, sizeof(host), row[1]);
    else if (!strcasecmp(name, "port"))
      clean(port, sizeof(port), row[1]);
    else if (!strcasecmp(name, "extra_port"))
      c->learned_port= number(row[1]) > 0 ? number(row[1]) : 0;
    else if (!strcasecmp(name, "max_connections"))
      s->max_connections= number(row[1]);
    else if (!strcasecmp(name, "thread_handling"))
      s->pool_is_on= row[1] && !strcasecmp(row[1], "pool-of-threads");
    else if (!strcasecmp(name, "thread_pool_max_threads"))
      s->max_threads= number(row[1]);
  }
  mysql_free_result(result);
  snprintf(s->server, sizeof(s->server), "%s:%s", host, port);
  return true;
}

/* --- groups and the gate ------------------------------------------------------------ */

static void forget_group(struct group *g)
{
  *g= (struct group) {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN,
                      UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN};
}

static void add_group(struct group *sum, const struct group *g)
{
  sum->connections= add_known(sum->connections, g->connections);
  sum->threads= add_known(sum->threads, g->threads);
  sum->running= add_known(sum->running, g->running);
  sum->waiting= add_known(sum->waiting, g->waiting);
  sum->long_ones= add_known(sum->long_ones, g->long_ones);
  sum->idle= add_known(sum->idle, g->idle);
  sum->queue= add_known(sum->queue, g->queue);
  sum->hot= add_known(sum->hot, g->hot);
  sum->held= add_known(sum->held, g->held);
  sum->stalled= add_known(sum->stalled, g->stalled);
}

static bool read_groups(struct reader *r, struct sample *s, struct connection *c)
{
  static const struct { const char *column; size_t place; } wanted[]=
  {
    {"GROUP_ID", offsetof(struct group, id)},
    {"CONNECTIONS", offsetof(struct group, connections)},
    {"THREADS", offsetof(struct group, threads)},
    {"ACTIVE_THREADS", offsetof(struct group, running)},
    {"WAITING_THREADS", offsetof(struct group, waiting)},
    {"LONG_STATEMENTS", offsetof(struct group, long_ones)},
    {"STANDBY_THREADS", offsetof(struct group, idle)},
    {"QUEUE_LENGTH", offsetof(struct group, queue)},
    {"HOT_TRANSACTIONS", offsetof(struct group, hot)},
    {"WAITING_TRANSACTIONS", offsetof(struct group, held)},
    {"IS_STALLED", offsetof(struct group, stalled)},
  };
  unsigned columns= sizeof(wanted) / sizeof(*wanted);
  char query[512]= "SELECT ";
  if (!has(r, GROUPS))
    return true;
  for (unsigned i= 0; i < columns; i++)
  {
    size_t length= strlen(query);
    snprintf(query + length, sizeof(query) - length, "%s%s", i ? ", " : "",
             has_column(r, GROUPS, wanted[i].column) ? wanted[i].column : "NULL");
  }
  strncat(query, " FROM information_schema.THREAD_POOL_GROUPS",
          sizeof(query) - strlen(query) - 1);
  MYSQL_RES *result= connection_query(c, query);
  MYSQL_ROW row;
  if (!result)
    return c->mysql != NULL;
  s->groups= calloc((size_t) mysql_num_rows(result) + 1, sizeof(*s->groups));
  while (s->groups && (row= mysql_fetch_row(result)))
  {
    struct group *g= &s->groups[s->group_count++];
    forget_group(g);
    for (unsigned i= 0; i < columns; i++)
      *(int64_t *) ((char *) g + wanted[i].place)= number(row[i]);
    add_group(&s->sum, g);
  }
  mysql_free_result(result);
  s->hot= s->sum.hot;
  s->held= s->sum.held;
  return true;
}

static bool read_gate(struct reader *r, struct sample *s, struct connection *c)
{
  if (!has_column(r, GATE, "REASON"))
    return true;
  MYSQL_RES *result= connection_query(c,
    "SELECT TRANSACTIONS_LIMIT, REASON FROM information_schema.THREAD_POOL_GATE");
  if (!result)
    return c->mysql != NULL;
  MYSQL_ROW row= mysql_fetch_row(result);
  if (row)
  {
    s->gate_limit= number(row[0]);
    clean(s->gate_reason, sizeof(s->gate_reason), row[1]);
  }
  mysql_free_result(result);
  return true;
}

/* --- queue times, and what threads wait for ------------------------------------------- */

static bool read_histogram(struct reader *r, struct sample *s, struct connection *c)
{
  if (!has_column(r, HISTOGRAM, "MEASURE"))
    return true;
  MYSQL_RES *result= connection_query(c,
    "SELECT FROM_MICROSECONDS, TO_MICROSECONDS, SUM(`COUNT`) "
    "FROM information_schema.THREAD_POOL_HISTOGRAM "
    "WHERE MEASURE = 'QUEUE_TIME' AND QUEUE <> 'LOGIN' GROUP BY 1, 2 ORDER BY 1");
  MYSQL_ROW row;
  if (!result)
    return c->mysql != NULL;
  s->buckets= calloc((size_t) mysql_num_rows(result) + 1, sizeof(*s->buckets));
  while (s->buckets && (row= mysql_fetch_row(result)))
  {
    struct bucket b= {number(row[0]), number(row[1]), number(row[2])};
    if (b.from >= 0 && b.to >= 0 && b.count > 0)
      s->buckets[s->bucket_count++]= b;
  }
  mysql_free_result(result);
  s->has_histogram= s->buckets != NULL && s->pool_is_on;
  return true;
}

/* NET is the sum of the four after it, so it isn't shown beside them. */
static bool read_waits(struct reader *r, struct sample *s, struct connection *c)
{
  if (!has_column(r, WAITS, "WAITING"))
    return true;
  MYSQL_RES *result= connection_query(c,
    "SELECT LOWER(REPLACE(REASON, '_', ' ')), WAITING FROM information_schema.THREAD_POOL_WAITS "
    "WHERE WAITING > 0 AND REASON <> 'NET' ORDER BY WAITING DESC, REASON");
  MYSQL_ROW row;
  if (!result)
    return c->mysql != NULL;
  while (s->wait_count < WAITS_SHOWN && (row= mysql_fetch_row(result)))
  {
    struct wait *w= &s->waits[s->wait_count++];
    clean(w->reason, sizeof(w->reason), row[0]);
    w->waiting= number(row[1]);
  }
  mysql_free_result(result);
  s->has_waits= s->pool_is_on;
  return true;
}

/* --- who waits, and who holds ------------------------------------------------------------ */

/* Of stock, the queue tells the connection, the process list only that it sleeps. */
static const char waiters_of_stock[]=
  "SELECT q.CONNECTION_ID, q.QUEUEING_TIME_MICROSECONDS / 1000, p.USER, NULL, p.INFO "
  "FROM (SELECT CONNECTION_ID, QUEUEING_TIME_MICROSECONDS "
  "      FROM information_schema.THREAD_POOL_QUEUES "
  "      ORDER BY QUEUEING_TIME_MICROSECONDS DESC LIMIT 10) q "
  "LEFT JOIN information_schema.PROCESSLIST p ON p.ID = q.CONNECTION_ID "
  "ORDER BY 2 DESC LIMIT 10";
static const char waiters_of_millrace[]=
  "SELECT ID, TIME_MS, USER, STATE, LEFT(INFO, 512) FROM information_schema.PROCESSLIST "
  "WHERE STATE LIKE 'Waiting in thread pool%' ORDER BY TIME_MS DESC LIMIT 10";

static bool read_waiters(struct reader *r, struct sample *s, struct connection *c)
{
  /* The process list shows them since the same release as the histogram. */
  bool millrace= has(r, HISTOGRAM);
  if (!s->pool_is_on || (!millrace && !has(r, QUEUES)))
  {
    snprintf(s->no_waiters, sizeof(s->no_waiters), "%s",
             s->pool_is_on ? "this server doesn't show who waits" : "the pool is off");
    return true;
  }
  MYSQL_RES *result= connection_query(c, millrace ? waiters_of_millrace :
                                                    waiters_of_stock);
  MYSQL_ROW row;
  if (!result)
  {
    snprintf(s->no_waiters, sizeof(s->no_waiters), "%.90s", c->error);
    return c->mysql != NULL;
  }
  while (s->waiter_count < WAITERS_SHOWN && (row= mysql_fetch_row(result)))
  {
    static const char begin[]= "Waiting in thread pool: ";
    struct waiter *w= &s->waiters[s->waiter_count++];
    const char *state= row[3];
    w->id= number(row[0]);
    w->time_us= milliseconds(row[1]);
    clean(w->user, sizeof(w->user), row[2]);
    /* All of them begin alike. */
    if (state && !strncmp(state, begin, sizeof(begin) - 1))
      state+= sizeof(begin) - 1;
    clean(w->state, sizeof(w->state), state);
    clean(w->statement, sizeof(w->statement), row[4]);
    if (s->oldest_us == UNKNOWN || (!millrace && w->time_us > s->oldest_us))
      s->oldest_us= w->time_us;
  }
  mysql_free_result(result);
  if (!millrace && !s->waiter_count)
    s->oldest_us= 0;
  return true;
}

/*
  With thousands of waiters, the table of waits has millions of rows: so they are
  added up before anything is joined. InnoDB tells times of the system's time zone,
  NOW() that of the session. Should there be no way from one to the other, the age is
  NULL, which is shown as unknown.
*/
static const char holders_query[]=
  "SELECT h.id, h.waiters, h.age, h.state, p.USER, p.COMMAND, "
  "  COALESCE(p.INFO, h.query) "
  "FROM (SELECT t.trx_mysql_thread_id AS id, b.waiters, "
  "        TIMESTAMPDIFF(SECOND, t.trx_started, "
  "          CONVERT_TZ(NOW(), @@SESSION.time_zone, 'SYSTEM')) AS age, "
  "        t.trx_state AS state, t.trx_query AS query "
  "      FROM (SELECT blocking_trx_id, COUNT(DISTINCT requesting_trx_id) AS waiters "
  "            FROM information_schema.INNODB_LOCK_WAITS GROUP BY 1) b "
  "      JOIN information_schema.INNODB_TRX t ON t.trx_id = b.blocking_trx_id "
  "      ORDER BY t.trx_state = 'LOCK WAIT', b.waiters DESC LIMIT 10) h "
  "LEFT JOIN information_schema.PROCESSLIST p ON p.ID = h.id";

static bool ask_for_holders(struct reader *r, struct sample *s, struct connection *c)
{
  double began= now();
  MYSQL_RES *result= connection_query(c, holders_query);
  MYSQL_ROW row;
  if (!result)
  {
    snprintf(s->no_holders, sizeof(s->no_holders), "%.90s", c->error);
    return c->mysql != NULL;
  }
  r->holder_count= 0;
  while (r->holder_count < HOLDERS_SHOWN && (row= mysql_fetch_row(result)))
  {
    struct holder *h= &r->holders[r->holder_count++];
    int64_t age= number(row[2]);
    h->id= number(row[0]);
    h->waiters= number(row[1]);
    h->age_us= age == UNKNOWN ? UNKNOWN : age * 1000000;
    h->waits= row[3] && !strcasecmp(row[3], "LOCK WAIT");
    h->sleeps= row[5] && !strcasecmp(row[5], "Sleep");
    clean(h->user, sizeof(h->user), row[4]);
    clean(h->command, sizeof(h->command), row[5]);
    clean(h->statement, sizeof(h->statement), row[6]);
  }
  mysql_free_result(result);
  r->holders_from= now() + (now() - began) * HOLDERS_SHARE;
  return true;
}

static bool read_holders(struct reader *r, struct sample *s, struct connection *c)
{
  if (!has(r, TRX) || !has(r, LOCK_WAITS))
  {
    snprintf(s->no_holders, sizeof(s->no_holders),
             "this server has no tables about InnoDB's locks");
    return true;
  }
  if (!r->may_see_all)
  {
    snprintf(s->no_holders, sizeof(s->no_holders),
             "not shown without the PROCESS privilege");
    return true;
  }
  if (now() < r->holders_from)
    s->holders_are_old= true;
  else if (!ask_for_holders(r, s, c))
    return false;
  memcpy(s->holders, r->holders, sizeof(s->holders));
  s->holder_count= r->holder_count;
  return true;
}

/* --- all of it ------------------------------------------------------------------------------ */

static void say_what_is_missing(const struct reader *r, struct sample *s)
{
  if (!s->pool_is_on)
    snprintf(s->missing, sizeof(s->missing),
             "the pool is off: thread_handling is not pool-of-threads");
  else if (!has(r, GROUPS))
    snprintf(s->missing, sizeof(s->missing),
             "this server has no table THREAD_POOL_GROUPS");
  else if (!r->may_see_all)
    snprintf(s->missing, sizeof(s->missing),
             "without the PROCESS privilege: only your own statements, no holders of locks");
  else if (!has(r, HISTOGRAM))
    snprintf(s->missing, sizeof(s->missing),
             "this server is not Millrace: \"-\" is what it doesn't tell");
}

static struct sample *sample_create(void)
{
  struct sample *s= calloc(1, sizeof(*s));
  if (!s)
    return NULL;
  s->at= now();
  s->uptime= s->connections= s->max_connections= s->running= UNKNOWN;
  s->threads= s->max_threads= s->reserve= s->exempt= s->oldest_us= UNKNOWN;
  s->gate_limit= s->hot= s->held= UNKNOWN;
  strcpy(s->gate_reason, "-");
  strcpy(s->version, "-");
  strcpy(s->server, "-");
  forget_group(&s->sum);
  return s;
}

struct sample *sample_read(struct reader *reader, struct connection *connection)
{
  if (!reader->knows_columns && (!learn_columns(reader, connection) ||
                                 !learn_privilege(reader, connection)))
    return NULL;
  struct sample *s= sample_create();
  if (!s)
  {
    snprintf(connection->error, sizeof(connection->error), "out of memory");
    return NULL;
  }
  if (read_variables(s, connection) && read_status(s, connection) &&
      read_groups(reader, s, connection) && read_gate(reader, s, connection) &&
      read_histogram(reader, s, connection) && read_waits(reader, s, connection) &&
      read_waiters(reader, s, connection) && read_holders(reader, s, connection))
  {
    say_what_is_missing(reader, s);
    return s;
  }
  sample_free(s);
  return NULL;
}
