/* Beside the clients: who kills them, who changes the pool, who follows the log. */
#include "stress.h"

#include <mariadb_rpl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Atomic uint64_t kills, settings, dump_events;

/* The first column of a result, as numbers; returns how many. */
static unsigned fetch_numbers(struct worker *w, const char *query, unsigned long *to, unsigned max)
{
  unsigned n= 0;
  begin_call(w);
  if (mysql_query(w->mysql, query))
  {
    end_call(w, true);
    return 0;
  }
  MYSQL_RES *result= mysql_store_result(w->mysql);
  if (end_call(w, !result) != DONE)
    return 0;
  MYSQL_ROW row;
  while (n < max && (row= mysql_fetch_row(result)))
    to[n++]= strtoul(row[0], NULL, 10);
  mysql_free_result(result);
  return n;
}

static bool reopen(struct worker *w)
{
  return w->mysql || session_open(w, BY_EXTRA_PORT, ADMIN_USER, "control");
}

/* --- killer --------------------------------------------------------------------------- */

void *killer_main(void *worker)
{
  struct worker *w= worker;
  unsigned long ids[1000];
  atomic_store(&w->doing, "killer");
  while (!atomic_load(&stopping))
  {
    /* Who logs in is killed too, but seldom: most would never get further. */
    static const char *const whom[]=
    {
      "SELECT id FROM information_schema.processlist WHERE user IN "
      "('" CLIENT_USER "', '" VICTIM_USER "')",
      "SELECT id FROM information_schema.processlist WHERE user IN "
      "('" CLIENT_USER "', '" VICTIM_USER "') AND command <> 'Sleep'",
      "SELECT id FROM information_schema.processlist WHERE user = 'unauthenticated user'"
    };
    unsigned choice= one_in(w, 20) ? 2 : below(w, 2);
    unsigned n= reopen(w) ? fetch_numbers(w, whom[choice], ids, 1000) : 0;
    for (unsigned i= 0; n && i < 5 && w->mysql && !atomic_load(&stopping); i++)
    {
      /* Those that are gone since are found as well as those that are not. */
      unsigned long id= ids[below(w, n)];
      switch (below(w, 5)) {
      case 0: run(w, "KILL CONNECTION %lu", id); break;
      case 1: run(w, "KILL SOFT CONNECTION %lu", id); break;
      case 2: run(w, "KILL SOFT QUERY %lu", id); break;
      default: run(w, "KILL QUERY %lu", id); break;
      }
      atomic_fetch_add(&kills, 1);
      pause_ms(w, 60);
    }
    if (w->mysql && one_in(w, 40))
      run(w, "KILL %s USER %s", one_in(w, 2) ? "CONNECTION" : "QUERY",
          one_in(w, 6) ? CLIENT_USER : VICTIM_USER);
    pause_ms(w, 10);
  }
  session_close(w);
  return NULL;
}

/* --- the pool's variables ----------------------------------------------------------------- */

static const struct
{
  const char *name;
  const char *values[8];
} variables[]=
{
  {"thread_pool_size", {"1", "2", "3", "4", "5", "6"}},
  {"thread_pool_oversubscribe", {"1", "1", "2", "3", "10"}},
  {"thread_pool_stall_limit", {"5", "20", "60", "500"}},
  {"thread_pool_long_statement_limit", {"0", "1", "10", "30"}},
  {"thread_pool_long_statement_nice", {"0", "5", "19"}},
  {"thread_pool_long_statements", {"0", "0", "1", "4"}},
  {"thread_pool_max_transactions_limit", {"-1", "0", "1", "4", "20"}},
  {"thread_pool_max_transactions_adaptive", {"0", "1"}},
  {"thread_pool_transaction_window", {"0", "100", "50000"}},
  {"thread_pool_busy_limit", {"0", "0", "1", "5"}},
  {"thread_pool_dedicated_listener", {"0", "1"}},
  {"thread_pool_exact_stats", {"0", "1"}},
  {"thread_pool_exempt_programs", {"''", "'stress'", "'other,stress'", "'nobody'"}},
  /* With few, the reserve has to let through who would wake those that wait. */
  {"thread_pool_max_threads", {"12", "40", "60", "200", "65536"}},
  {"thread_pool_reserve_threads", {"16", "32", "64"}},
  {"thread_pool_idle_timeout", {"1", "2", "60"}},
  {"thread_pool_prio_kickup_timer", {"0", "10", "1000"}},
  {"thread_pool_high_prio_mode", {"transactions", "statements", "none"}},
  {"thread_pool_high_prio_tickets", {"0", "2", "4294967295"}},
  {"thread_pool_priority", {"auto", "high", "low"}},
  {"thread_pool_lock_holder_boost", {"0", "1"}}
};
#define VARIABLES (sizeof(variables) / sizeof(*variables))

static char *before[VARIABLES];

static void remember(struct worker *w)
{
  for (unsigned i= 0; i < VARIABLES; i++)
  {
    char query[200];
    snprintf(query, sizeof(query), "SELECT QUOTE(@@GLOBAL.%s)", variables[i].name);
    if (mysql_query(w->mysql, query))
      continue;                 /* not in this server */
    MYSQL_RES *result= mysql_store_result(w->mysql);
    MYSQL_ROW row= result ? mysql_fetch_row(result) : NULL;
    if (row && row[0])
      before[i]= strdup(row[0]);
    mysql_free_result(result);
  }
}

/* Numbers without quotes: the server wants the type. */
static const char *bare(char *quoted)
{
  size_t length= strlen(quoted);
  char *inner= quoted + 1;
  if (length < 3 || strspn(inner, "-0123456789") != length - 2)
    return quoted;
  quoted[length - 1]= 0;
  return inner;
}

static void set_back(struct worker *w)
{
  for (unsigned i= 0; i < VARIABLES; i++)
    if (before[i])
    {
      enum outcome o= w->mysql ? run(w, "SET GLOBAL %s = %s", variables[i].name,
                                     bare(before[i])) : LOST;
      if (o != DONE)
        check(false, "the variables are set back", "%s", variables[i].name);
      free(before[i]);
    }
}

static void change_variable(struct worker *w)
{
  unsigned i= below(w, VARIABLES), values= 0;
  while (values < 8 && variables[i].values[values])
    values++;
  if (!before[i])
    return;
  run(w, "SET GLOBAL %s = %s", variables[i].name, variables[i].values[below(w, values)]);
  atomic_fetch_add(&settings, 1);
}

static void look(struct worker *w)
{
  static const char *const queries[]=
  {
    "SHOW GLOBAL STATUS", "SHOW FULL PROCESSLIST",
    "SELECT * FROM information_schema.thread_pool_groups",
    "SELECT * FROM information_schema.thread_pool_queues",
    "SELECT * FROM information_schema.thread_pool_stats",
    /* Ours; with stock they are not there. */
    "SELECT * FROM information_schema.thread_pool_waits",
    "SELECT * FROM information_schema.thread_pool_group_waits"
  };
  static _Atomic bool missing[sizeof(queries) / sizeof(*queries)];
  unsigned i= below(w, sizeof(queries) / sizeof(*queries));
  if (missing[i])
    return;
  if (i >= 5 && mysql_query(w->mysql, queries[i]))
  {
    missing[i]= true;
    return;
  }
  if (i >= 5)
  {
    begin_call(w);
    take_results(w);
  }
  else
    run(w, "%s", queries[i]);
}

/* Logs that no dump reads go, so that a long run does not fill the disk. */
static void purge(struct worker *w)
{
  run(w, "FLUSH BINARY LOGS");
  if (w->mysql)
    run(w, "PURGE BINARY LOGS BEFORE NOW()");
}

void *admin_main(void *worker)
{
  struct worker *w= worker;
  int64_t purged= now_ns();
  atomic_store(&w->doing, "control");
  if (!reopen(w))
  {
    check(false, "extra_port answers", "no connection");
    return NULL;
  }
  remember(w);
  while (!atomic_load(&stopping))
  {
    if (reopen(w))
    {
      if (one_in(w, 3))
        look(w);
      else
        change_variable(w);
    }
    if (w->mysql && now_ns() - purged > 10000000000LL)
    {
      purge(w);
      purged= now_ns();
    }
    pause_ms(w, 60);
  }
  if (reopen(w))
    set_back(w);
  session_close(w);
  return NULL;
}

/* --- binlog dumps ---------------------------------------------------------------------------- */

/* The first or the last of the logs that there are. */
static bool choose_log(struct worker *w, char *name, size_t size)
{
  bool first= one_in(w, 3);
  begin_call(w);
  bool failed= mysql_query(w->mysql, "SHOW BINARY LOGS");
  MYSQL_RES *result= failed ? NULL : mysql_store_result(w->mysql);
  if (end_call(w, !result) != DONE)
    return false;
  MYSQL_ROW row;
  *name= 0;
  while ((!first || !*name) && (row= mysql_fetch_row(result)))
    snprintf(name, size, "%s", row[0]);
  mysql_free_result(result);
  return *name;
}

static void dump(struct worker *w)
{
  char name[300];
  /* Some want the number of another one, which the server ends then. */
  unsigned id= one_in(w, 10) ? 1000 : 1001 + w->number;
  if (!choose_log(w, name, sizeof(name)) ||
      run(w, "SET @master_binlog_checksum = 'NONE', @mariadb_slave_capability = 4, "
             "@master_heartbeat_period = 200000000, @slave_uuid = '%u'", id) != DONE)
    return;
  MARIADB_RPL *rpl= mariadb_rpl_init(w->mysql);
  if (!rpl)
    abort();
  mariadb_rpl_optionsv(rpl, MARIADB_RPL_FILENAME, name, strlen(name));
  mariadb_rpl_optionsv(rpl, MARIADB_RPL_START, 4UL);
  mariadb_rpl_optionsv(rpl, MARIADB_RPL_SERVER_ID, id);
  mariadb_rpl_optionsv(rpl, MARIADB_RPL_FLAGS, 0U);
  begin_call(w);
  if (!mariadb_rpl_open(rpl))
  {
    MARIADB_RPL_EVENT *event= NULL;
    unsigned events= one_in(w, 4) ? below(w, 50) : below(w, 20000);
    int64_t until= now_ns() + (int64_t) (1 + below(w, 5000)) * 1000000;
    while (events-- && now_ns() < until && !atomic_load(&stopping) &&
           (event= mariadb_rpl_fetch(rpl, event)))
    {
      atomic_fetch_add(&dump_events, 1);
      if (one_in(w, 500))
        pause_ms(w, 1500);      /* the server waits to write, or for the log */
      begin_call(w);
    }
    if (event)
      mariadb_free_rpl_event(event);
  }
  atomic_store(&w->since, 0);
  if (mysql_errno(w->mysql))
    count_error(mysql_errno(w->mysql), mysql_error(w->mysql));
  mariadb_rpl_close(rpl);
}

void *dump_main(void *worker)
{
  struct worker *w= worker;
  atomic_store(&w->doing, "binlog dump");
  while (!atomic_load(&stopping))
  {
    if (session_open(w, below(w, TRANSPORTS), CLIENT_USER, "dump"))
      dump(w);
    if (w->mysql && !one_in(w, 3))
      session_drop(w);
    else
      session_close(w);
    pause_ms(w, 300);
  }
  return NULL;
}
