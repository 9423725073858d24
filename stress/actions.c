/* What a client does: one of these after the other, as chance has it. */
#include "stress.h"

#include <errmsg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
  An action returns with the session as it found it (no transaction, no locks),
  or with none. It goes on after an error only where that leaves nothing behind.
*/
typedef void action(struct worker *);

/* A few statements that are short. */
static void short_selects(struct worker *w)
{
  for (unsigned n= 1 + below(w, 8); n && w->mysql; n--)
    switch (below(w, 4)) {
    case 0: run(w, "DO 1"); break;
    case 1: run(w, "SELECT balance FROM account WHERE id = %u", 1 + below(w, ACCOUNTS)); break;
    case 2: run(w, "SELECT COUNT(*), SUM(v) FROM mass"); break;
    case 3: run(w, "SELECT v FROM hot WHERE id = %u", 1 + below(w, HOT_ROWS)); break;
    }
}

/* Rows that all want, in any order: waits, deadlocks, time-outs. */
static void hot_rows(struct worker *w)
{
  static const char *const locks[]=
  {
    "UPDATE hot SET v = v + 1 WHERE id = %u",
    "SELECT v FROM hot WHERE id = %u FOR UPDATE",
    "SELECT v FROM hot WHERE id = %u LOCK IN SHARE MODE",
    "SELECT v FROM hot WHERE id = %u FOR UPDATE SKIP LOCKED",
    "SELECT v FROM hot WHERE id = %u FOR UPDATE WAIT 1"
  };
  if (one_in(w, 4))
  {
    run(w, "UPDATE hot SET v = v + 1 WHERE id = %u", 1 + below(w, HOT_ROWS));
    return;
  }
  enum outcome o= run(w, "BEGIN");
  for (unsigned n= 1 + below(w, 3); n && o == DONE; n--)
  {
    char text[100];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof(text), locks[below(w, 5)], 1 + below(w, HOT_ROWS));
#pragma GCC diagnostic pop
    o= run(w, "%s", text);
    if (one_in(w, 3))
      pause_ms(w, 10);
  }
  if (!w->mysql)
    return;
  if (one_in(w, 8))
    session_drop(w);
  else
    tidy(w, o == DONE && !one_in(w, 4) ? "COMMIT" : "ROLLBACK");
}

/* One has all rows of a table, the others wait for one each: they wake together. */
static void mass_wakeup(struct worker *w)
{
  if (!one_in(w, 6))
  {
    run(w, "UPDATE mass SET v = v + 1 WHERE id = %u", 1 + below(w, MASS_ROWS));
    return;
  }
  if (run(w, "BEGIN") != DONE)
    return;
  enum outcome o= run(w, "UPDATE mass SET v = v + 1 WHERE id BETWEEN 1 AND %u", MASS_ROWS);
  if (o == LOST)
    return;
  pause_ms(w, 60);
  if (one_in(w, 10))
    session_drop(w);
  else
    tidy(w, o == DONE ? "COMMIT" : "ROLLBACK");
}

static void user_locks(struct worker *w)
{
  for (unsigned n= 1 + below(w, 2); n && w->mysql; n--)
    run(w, "SELECT GET_LOCK('stress_%u', 0.%u)", below(w, USER_LOCKS), 1 + below(w, 5));
  if (!w->mysql)
    return;
  pause_ms(w, 10);
  if (one_in(w, 10))
    session_drop(w);
  else
    tidy(w, "DO RELEASE_ALL_LOCKS()");
}

/* Metadata locks: LOCK TABLES, ALTER TABLE, FLUSH TABLES against statements. */
static void lock_tables(struct worker *w)
{
  enum outcome o= run(w, "LOCK TABLES mdl %s", one_in(w, 2) ? "WRITE" : "READ");
  if (o == DONE)
  {
    o= run(w, "SELECT COUNT(*) FROM mdl");
    pause_ms(w, 15);
  }
  if (!w->mysql)
    return;
  if (one_in(w, 8))
    session_drop(w);
  else
    tidy(w, "UNLOCK TABLES");
}

static void alter_table(struct worker *w)
{
  switch (below(w, 5)) {
  case 0: run(w, "ALTER TABLE mdl FORCE"); break;
  case 1: run(w, "ALTER TABLE mdl COMMENT = '%u'", below(w, 1000)); break;
  case 2: run(w, "ALTER TABLE mdl ALTER v SET DEFAULT %u", below(w, 1000)); break;
  case 3: run(w, "FLUSH TABLES mdl"); break;
  case 4: run(w, "CREATE OR REPLACE TABLE made (a INT) ENGINE=InnoDB"); break;
  }
}

static void use_altered(struct worker *w)
{
  if (one_in(w, 3))
  {
    run(w, "UPDATE mdl SET v = v + 1 WHERE id = %u", 1 + below(w, 10));
    return;
  }
  if (run(w, "BEGIN") != DONE)
    return;
  enum outcome o= run(w, "SELECT * FROM mdl WHERE id = %u", 1 + below(w, 10));
  if (o == LOST)
    return;
  pause_ms(w, 20);
  tidy(w, "ROLLBACK");
}

static void flush_tables(struct worker *w)
{
  run(w, "FLUSH TABLES");
}

static void global_read_lock(struct worker *w)
{
  if (run(w, "FLUSH TABLES WITH READ LOCK") == LOST)
    return;
  pause_ms(w, 20);
  if (one_in(w, 6))
    session_drop(w);
  else
    tidy(w, "UNLOCK TABLES");
}

static void sleeper(struct worker *w)
{
  run(w, "SELECT SLEEP(0.0%u)", 1 + below(w, 9));
}

/* Waits for the lock of a whole table. */
static void myisam(struct worker *w)
{
  switch (below(w, 4)) {
  case 0: run(w, "UPDATE locked SET v = v + 1 WHERE id = %u AND SLEEP(0.005) = 0", 1 + below(w, 20)); break;
  case 1: run(w, "INSERT INTO locked (v) VALUES (0)"); break;
  case 2: run(w, "DELETE FROM locked WHERE id > 20"); break;
  case 3: run(w, "SELECT SUM(v), SLEEP(0.002) FROM locked"); break;
  }
}

static void delayed(struct worker *w)
{
  if (one_in(w, 30))
    run(w, "DELETE FROM later");
  else
    run(w, "INSERT DELAYED INTO later VALUES (%u, %u)", w->number, below(w, 1000));
}

static void query_cache(struct worker *w)
{
  for (unsigned n= 1 + below(w, 5); n && w->mysql; n--)
    if (one_in(w, 6))
      run(w, "UPDATE cached SET v = v + 1 WHERE id = %u", 1 + below(w, 10));
    else
      run(w, "SELECT SQL_CACHE * FROM cached WHERE id <= %u", 1 + below(w, 10));
}

/* Long ones, by their own length and by a limit. */
static void cpu_bound(struct worker *w)
{
  if (one_in(w, 2))
    run(w, "SET STATEMENT max_statement_time = 0.05 FOR "
           "SELECT BENCHMARK(1000000000, MD5('stress'))");
  else
    run(w, "SELECT BENCHMARK(%u, SHA2('stress', 512))", 1000 + below(w, 40000));
}

/* 8 MB: more than the buffers between us hold, so the server waits to write. */
static void large_result(struct worker *w)
{
  static const char query[]= "SELECT b, five.a FROM big, five";
  begin_call(w);
  if (mysql_real_query(w->mysql, query, sizeof(query) - 1))
  {
    end_call(w, true);
    return;
  }
  MYSQL_RES *result= mysql_use_result(w->mysql);
  if (!result)
  {
    end_call(w, true);
    return;
  }
  bool slowly= one_in(w, 2);
  unsigned rows= one_in(w, 3) ? 100000 : below(w, 300);
  while (rows && mysql_fetch_row(result))
  {
    rows--;
    if (slowly && one_in(w, 100))
      usleep(2000);
    begin_call(w);
  }
  if (mysql_errno(w->mysql))
  {
    mysql_free_result(result);
    end_call(w, true);
    return;
  }
  if (rows)
  {
    mysql_free_result(result);
    end_call(w, false);
    return;
  }
  /* Not read to its end: closed, after a while in which nothing is read. */
  atomic_store(&w->since, 0);
  pause_ms(w, one_in(w, 20) ? 3000 : 100);
  shutdown(mysql_get_socket(w->mysql), SHUT_RDWR);
  mysql_free_result(result);
  atomic_fetch_add(&w->statements, 1);
  session_drop(w);
}

static void several_statements(struct worker *w)
{
  switch (below(w, 3)) {
  case 0: run(w, "SELECT 1; DO SLEEP(0.01); SELECT COUNT(*) FROM mass; SELECT 2"); break;
  case 1:
    run(w, "BEGIN; UPDATE hot SET v = v + 1 WHERE id = %u; SELECT v FROM hot; COMMIT",
        1 + below(w, HOT_ROWS));
    if (w->mysql)
      tidy(w, "ROLLBACK");
    break;
  case 2: run(w, "DO GET_LOCK('stress_0', 0.05); DO RELEASE_ALL_LOCKS(); SELECT 3"); break;
  }
}

static bool statement_failed(struct worker *w, MYSQL_STMT *s)
{
  /* An error between two rows is kept with the connection only. */
  if (mysql_stmt_errno(s))
    count_error(mysql_stmt_errno(s), mysql_stmt_error(s));
  else
    count_error(mysql_errno(w->mysql), mysql_error(w->mysql));
  atomic_store(&w->since, 0);
  return false;
}

static bool execute(struct worker *w, MYSQL_STMT *s)
{
  begin_call(w);
  if (mysql_stmt_execute(s))
    return statement_failed(w, s);
  if (mysql_stmt_field_count(s))
  {
    int status;
    do
      status= mysql_stmt_fetch(s);
    while (status == 0 || status == MYSQL_DATA_TRUNCATED);
    if (status == 1)
      return statement_failed(w, s);
  }
  mysql_stmt_free_result(s);
  atomic_store(&w->since, 0);
  atomic_fetch_add(&w->statements, 1);
  return true;
}

/* Also with a cursor, whose rows are asked for a few at a time. */
static void prepared(struct worker *w)
{
  static const char *const queries[]=
  {
    "UPDATE hot SET v = v + 1 WHERE id = ?",
    "SELECT id, v FROM mass WHERE id > ?",
    "SELECT SLEEP(? * 0.001)"
  };
  const char *query= queries[below(w, 3)];
  bool cursor= query == queries[1] && one_in(w, 2);
  int value;
  MYSQL_BIND bind= {.buffer_type= MYSQL_TYPE_LONG, .buffer= &value};
  MYSQL_STMT *s= mysql_stmt_init(w->mysql);
  bool good= true;
  if (cursor)
  {
    unsigned long type= CURSOR_TYPE_READ_ONLY, rows= 20;
    mysql_stmt_attr_set(s, STMT_ATTR_CURSOR_TYPE, &type);
    mysql_stmt_attr_set(s, STMT_ATTR_PREFETCH_ROWS, &rows);
  }
  begin_call(w);
  if (mysql_stmt_prepare(s, query, strlen(query)))
    good= statement_failed(w, s);
  else
    mysql_stmt_bind_param(s, &bind);
  for (unsigned n= 1 + below(w, 5); n && good; n--)
  {
    value= 1 + (int) below(w, HOT_ROWS);
    good= execute(w, s);
  }
  begin_call(w);
  mysql_stmt_close(s);
  atomic_store(&w->since, 0);
  if (!good)
    session_drop(w);
}

/* --- LOAD DATA LOCAL --------------------------------------------------------------- */

struct feed
{
  struct worker *w;
  unsigned chunks;              /* still to be sent */
  enum { TO_THE_END, BREAK_OFF, BREAK_CONNECTION } how;
};

/* What init() is given as user data is what the other callbacks get as handle. */
static int feed_init(void **handle, const char *name, void *feed)
{
  (void) name;
  *handle= feed;
  return 0;
}

static int feed_read(void *handle, char *buffer, unsigned size)
{
  struct feed *f= handle;
  int used= 0;
  begin_call(f->w);
  if (!f->chunks)
    switch (f->how) {
    case TO_THE_END: return 0;
    case BREAK_OFF: return -1;
    case BREAK_CONNECTION:
      shutdown(mysql_get_socket(f->w->mysql), SHUT_RDWR);
      return -1;
    }
  f->chunks--;
  if (one_in(f->w, 3))
    pause_ms(f->w, 20);
  while ((unsigned) used + 100 < size && used < 4000)
    used+= sprintf(buffer + used, "%u\t%060u\n", f->w->number, below(f->w, 1000));
  return used;
}

static void feed_end(void *handle) { (void) handle; }

static int feed_error(void *handle, char *text, unsigned size)
{
  (void) handle;
  snprintf(text, size, "broken off");
  return CR_UNKNOWN_ERROR;
}

static void load_data(struct worker *w)
{
  struct feed f= {w, below(w, 20), below(w, 3)};
  mysql_set_local_infile_handler(w->mysql, feed_init, feed_read, feed_end, feed_error, &f);
  run(w, "LOAD DATA LOCAL INFILE 'x' INTO TABLE loaded");
  if (w->mysql)
    mysql_set_local_infile_default(w->mysql);
  if (w->mysql && one_in(w, 10))
    run(w, "TRUNCATE TABLE loaded");
}

/* --- the session itself ------------------------------------------------------------ */

static void change_user(struct worker *w)
{
  bool wrong= one_in(w, 8);
  begin_call(w);
  bool failed= mysql_change_user(w->mysql, one_in(w, 2) ? CLIENT_USER : VICTIM_USER,
                                 wrong ? "wrong" : PASSWORD, DATABASE);
  if (end_call(w, failed) == REFUSED)
    session_drop(w);
}

static void other_commands(struct worker *w)
{
  begin_call(w);
  switch (below(w, 4)) {
  case 0: end_call(w, mysql_ping(w->mysql)); break;
  case 1: end_call(w, mysql_reset_connection(w->mysql)); break;
  case 2: end_call(w, !mysql_stat(w->mysql)); break;
  case 3: end_call(w, mysql_select_db(w->mysql, DATABASE)); break;
  }
}

static void gtid_wait(struct worker *w)
{
  run(w, "SELECT MASTER_GTID_WAIT('0-1-4000000000', 0.0%u)", 1 + below(w, 9));
}

static void own_settings(struct worker *w)
{
  static const char *const statements[]=
  {
    "SET thread_pool_exempt = 1", "SET thread_pool_exempt = 0",
    "SET thread_pool_priority = high", "SET thread_pool_priority = low",
    "SET thread_pool_priority = auto",
    "SET thread_pool_high_prio_mode = none", "SET thread_pool_high_prio_mode = statements",
    "SET thread_pool_high_prio_tickets = 0", "SET thread_pool_high_prio_tickets = 3",
    "SET max_statement_time = 0.02", "SET max_statement_time = 0",
    "SET tx_isolation = 'SERIALIZABLE'", "SET tx_isolation = 'READ-COMMITTED'",
    "SET query_cache_type = OFF", "SET innodb_lock_wait_timeout = 0"
  };
  for (unsigned n= 1 + below(w, 2); n && w->mysql; n--)
    run(w, "%s", statements[below(w, sizeof(statements) / sizeof(*statements))]);
}

/* The pool finds that it was idle for too long. */
static void idle(struct worker *w)
{
  if (one_in(w, 4) && run(w, "SET wait_timeout = 1") == DONE)
    usleep(1100000 + below(w, 1000000));
  else
    pause_ms(w, 50);
}

/* --- leaving without a word ---------------------------------------------------------- */

static void drop_in_statement(struct worker *w)
{
  static const char *const statements[]=
  {
    "SELECT SLEEP(0.2)",
    "UPDATE hot SET v = v + 1",
    "SELECT GET_LOCK('stress_1', 0.5)",
    "SELECT BENCHMARK(300000, MD5('stress'))",
    "UPDATE locked SET v = v + 1 WHERE SLEEP(0.002) = 0",
    "ALTER TABLE mdl FORCE",
    "SELECT b FROM big",
    "BEGIN; UPDATE mass SET v = v + 1; SELECT SLEEP(0.05); COMMIT"
  };
  const char *statement= statements[below(w, sizeof(statements) / sizeof(*statements))];
  if (mysql_send_query(w->mysql, statement, strlen(statement)))
  {
    end_call(w, true);
    return;
  }
  if (one_in(w, 2))
    pause_ms(w, 40);
  session_drop(w);
}

static void drop_in_transaction(struct worker *w)
{
  if (run(w, "BEGIN") == DONE &&
      run(w, "UPDATE hot SET v = v + 1 WHERE id = %u", 1 + below(w, HOT_ROWS)) != LOST)
    pause_ms(w, 20);
  if (w->mysql)
    session_drop(w);
}

/* The beginning of a packet, in whatever envelope the connection uses. */
static void half_packet(struct worker *w)
{
  static const unsigned char plain[]= {100, 0, 0, 0, 3, 'S', 'E', 'L', 'E', 'C', 'T'};
  static const unsigned char record[]= {0x17, 3, 3, 0, 100, 1, 2, 3, 4, 5, 6};
  static const unsigned char compressed[]= {80, 0, 0, 0, 100, 0, 0, 0x78, 0x9c, 1, 2};
  const unsigned char *bytes= w->transport == BY_COMPRESSION ? compressed :
    w->transport == BY_TLS || w->transport == BY_TLS_COMPRESSION ? record : plain;
  bool held= one_in(w, 3) && run(w, "BEGIN") == DONE &&
             run(w, "UPDATE hot SET v = v + 1 WHERE id = 1") != LOST;
  if (!w->mysql)
    return;
  (void) !send(mysql_get_socket(w->mysql), bytes, 1 + below(w, sizeof(plain)), MSG_NOSIGNAL);
  pause_ms(w, !held && one_in(w, 10) ? 2000 : 50);
  session_drop(w);
}

/* --- the ledger ------------------------------------------------------------------------ */

/*
  Money from one account to another, with a line in the journal. Whatever is
  killed, both happen or none. If the COMMIT is not answered, or by an error, it
  may have been done or not.
*/
static void transfer(struct worker *w)
{
  unsigned from= 1 + below(w, ACCOUNTS), to= 1 + below(w, ACCOUNTS), amount= 1 + below(w, 100);
  unsigned long long number= ++w->transfers;
  enum outcome o;
  if (one_in(w, 5))
  {
    o= run(w, "BEGIN; UPDATE account SET balance = balance - %u WHERE id = %u; "
              "UPDATE account SET balance = balance + %u WHERE id = %u; "
              "INSERT INTO journal VALUES (%u, %llu, %u, %u, %u); COMMIT",
           amount, from, amount, to, w->number, number, from, to, amount);
    atomic_fetch_add(o == DONE ? &w->commits : &w->unknown, 1);
    if (o == REFUSED)
      tidy(w, "ROLLBACK");
    return;
  }
  o= run(w, one_in(w, 2) ? "BEGIN" : "START TRANSACTION WITH CONSISTENT SNAPSHOT");
  if (o == DONE)
    o= run(w, "UPDATE account SET balance = balance - %u WHERE id = %u", amount, from);
  if (o == DONE && one_in(w, 4))
    pause_ms(w, 5);
  if (o == DONE)
    o= run(w, "UPDATE account SET balance = balance + %u WHERE id = %u", amount, to);
  if (o == DONE)
    o= run(w, "INSERT INTO journal VALUES (%u, %llu, %u, %u, %u)", w->number, number,
           from, to, amount);
  if (o == DONE && one_in(w, 40))
  {
    /* The answer to the COMMIT is not waited for. */
    mysql_send_query(w->mysql, "COMMIT", 6);
    atomic_fetch_add(&w->unknown, 1);
    session_drop(w);
    return;
  }
  if (o == DONE)
  {
    o= run(w, "COMMIT");
    atomic_fetch_add(o == DONE ? &w->commits : &w->unknown, 1);
  }
  /* A lock wait that timed out leaves the transaction open. */
  if (o == REFUSED)
    tidy(w, "ROLLBACK");
}

/* --- a client ---------------------------------------------------------------------------- */

static const struct
{
  const char *name;
  unsigned weight;
  action *act;
} actions[]=
{
  /* What stops all others is seldom, or there would be nothing to stop. */
  {"short selects", 120, short_selects},
  {"transfer", 200, transfer},
  {"hot rows", 80, hot_rows},
  {"mass wake-up", 80, mass_wakeup},
  {"user-level locks", 40, user_locks},
  {"LOCK TABLES", 10, lock_tables},
  {"ALTER TABLE", 10, alter_table},
  {"a table that is altered", 40, use_altered},
  {"FLUSH TABLES", 3, flush_tables},
  {"FLUSH TABLES WITH READ LOCK", 1, global_read_lock},
  {"SLEEP", 40, sleeper},
  {"MyISAM", 40, myisam},
  {"INSERT DELAYED", 30, delayed},
  {"query cache", 50, query_cache},
  {"CPU-bound", 30, cpu_bound},
  {"large result", 20, large_result},
  {"multi-statement", 40, several_statements},
  {"prepared statement", 40, prepared},
  {"LOAD DATA LOCAL", 30, load_data},
  {"COM_CHANGE_USER", 30, change_user},
  {"other commands", 30, other_commands},
  {"MASTER_GTID_WAIT", 20, gtid_wait},
  {"settings", 40, own_settings},
  {"idle", 10, idle},
  {"leaving in a statement", 20, drop_in_statement},
  {"leaving in a transaction", 20, drop_in_transaction},
  {"half a packet", 10, half_packet}
};
#define ACTIONS (sizeof(actions) / sizeof(*actions))

static unsigned choose_action(struct worker *w)
{
  unsigned all= 0, i;
  for (i= 0; i < ACTIONS; i++)
    all+= actions[i].weight;
  unsigned chosen= below(w, all);
  for (i= 0; chosen >= actions[i].weight; i++)
    chosen-= actions[i].weight;
  return i;
}

void *client_main(void *worker)
{
  struct worker *w= worker;
  static const char *const programs[]= {"stress", "other", NULL};
  while (!atomic_load(&stopping))
  {
    if (one_in(w, 12))
    {
      silent_connection(w);
      continue;
    }
    atomic_store(&w->doing, "connecting");
    if (!session_open(w, below(w, TRANSPORTS), one_in(w, 3) ? VICTIM_USER : CLIENT_USER,
                      programs[below(w, 3)]))
    {
      /* A server that is gone is not asked thousands of times. */
      pause_ms(w, 20);
      continue;
    }
    for (unsigned n= 1 + below(w, 20); n && w->mysql && !atomic_load(&stopping); n--)
    {
      unsigned i= choose_action(w);
      atomic_store(&w->doing, actions[i].name);
      actions[i].act(w);
    }
    atomic_store(&w->doing, "disconnecting");
    if (w->mysql && one_in(w, 4))
      session_drop(w);
    else
      session_close(w);
  }
  atomic_store(&w->doing, "done");
  return NULL;
}
