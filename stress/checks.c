/* Before: tables to fight for. Afterwards: is the pool empty, are the data right? */
#include "stress.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECONDS_TO_SETTLE 30
#define BALANCE 1000000

static atomic_bool failed;

bool all_is_well(void) { return !atomic_load(&failed); }

void check(bool good, const char *name, const char *format, ...)
{
  static pthread_mutex_t one_at_a_time= PTHREAD_MUTEX_INITIALIZER;
  va_list args;
  pthread_mutex_lock(&one_at_a_time);
  if (good)
    printf("ok %s\n", name);
  else
  {
    atomic_store(&failed, true);
    printf("FAILED %s: ", name);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
  }
  fflush(stdout);
  pthread_mutex_unlock(&one_at_a_time);
}

/* --- before ---------------------------------------------------------------------- */

static const char *const setup[]=
{
  "CREATE DATABASE " DATABASE,
  "USE " DATABASE,
  "CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT NOT NULL) ENGINE=InnoDB",
  "CREATE TABLE journal (client INT NOT NULL, number BIGINT NOT NULL, source INT NOT NULL,"
  " target INT NOT NULL, amount INT NOT NULL, PRIMARY KEY (client, number)) ENGINE=InnoDB",
  "CREATE TABLE hot (id INT PRIMARY KEY, v BIGINT NOT NULL) ENGINE=InnoDB",
  "CREATE TABLE mass (id INT PRIMARY KEY, v BIGINT NOT NULL) ENGINE=InnoDB",
  "CREATE TABLE mdl (id INT PRIMARY KEY, v BIGINT NOT NULL) ENGINE=InnoDB",
  "CREATE TABLE cached (id INT PRIMARY KEY, v BIGINT NOT NULL) ENGINE=InnoDB",
  "CREATE TABLE locked (id INT PRIMARY KEY AUTO_INCREMENT, v BIGINT NOT NULL) ENGINE=MyISAM",
  "CREATE TABLE later (client INT, v INT) ENGINE=MyISAM",
  "CREATE TABLE loaded (client INT, v VARCHAR(100)) ENGINE=InnoDB",
  "CREATE TABLE big (b VARCHAR(1000)) ENGINE=InnoDB CHARSET=latin1",
  "CREATE TABLE five (a INT) ENGINE=InnoDB",
  "INSERT INTO hot SELECT seq, 0 FROM seq_1_to_10",
  "INSERT INTO mass SELECT seq, 0 FROM seq_1_to_200",
  "INSERT INTO mdl SELECT seq, 0 FROM seq_1_to_10",
  "INSERT INTO cached SELECT seq, 0 FROM seq_1_to_10",
  "INSERT INTO locked SELECT seq, 0 FROM seq_1_to_20",
  "INSERT INTO big SELECT REPEAT(CHAR(97 + seq % 26), 1000) FROM seq_1_to_1600",
  "INSERT INTO five SELECT seq FROM seq_1_to_5",
  "CREATE USER " CLIENT_USER " IDENTIFIED BY '" PASSWORD "'",
  "CREATE USER " VICTIM_USER " IDENTIFIED BY '" PASSWORD "'",
  "CREATE USER " ADMIN_USER " IDENTIFIED BY '" PASSWORD "'",
  "GRANT ALL ON *.* TO " CLIENT_USER,
  /* Without the privileges for what only administrators may set. */
  "GRANT ALL ON " DATABASE ".* TO " VICTIM_USER,
  "GRANT RELOAD ON *.* TO " VICTIM_USER,
  "GRANT ALL ON *.* TO " ADMIN_USER
};

/* The server may have been started just now. */
void create_tables(struct worker *w)
{
  int64_t deadline= now_ns() + 180 * 1000000000LL;
  while (!session_open(w, BY_SOCKET, "root", NULL))
  {
    if (now_ns() > deadline)
    {
      check(false, "the server answers", "no connection by its socket");
      exit(1);
    }
    usleep(100000);
    look_at_server();
  }
  forget_errors();
  bool good= true;
  for (unsigned i= 0; good && i < sizeof(setup) / sizeof(*setup); i++)
    good= run(w, "%s", setup[i]) == DONE;
  good= good && run(w, "INSERT INTO account SELECT seq, %u FROM seq_1_to_%u", BALANCE,
                    options.accounts) == DONE;
  if (!good)
  {
    check_errors();
    check(false, "the tables are made", "see the errors");
    exit(1);
  }
  session_close(w);
}

/* --- afterwards -------------------------------------------------------------------- */

void rows_of(struct worker *w, const char *query, char *to, size_t size)
{
  size_t used= 0;
  *to= 0;
  MYSQL_RES *result= NULL;
  if (!w->mysql || mysql_query(w->mysql, query) || !(result= mysql_store_result(w->mysql)))
  {
    snprintf(to, size, "%s: %s", query, w->mysql ? mysql_error(w->mysql) : "not connected");
    return;
  }
  MYSQL_ROW row;
  while ((row= mysql_fetch_row(result)))
    for (unsigned i= 0; i < mysql_num_fields(result) && used + 100 <= size; i++)
      used+= (size_t) snprintf(to + used, 100, "%s%s", i ? " " : used ? "; " : "",
                               row[i] ? row[i] : "NULL");
  mysql_free_result(result);
}

void check_empty(struct worker *w, const char *name, const char *query)
{
  char rows[4000];
  rows_of(w, query, rows, sizeof(rows));
  check(!*rows, name, "%s", rows);
}

void check_settles(struct worker *w, const char *name, const char *query)
{
  char rows[4000];
  int64_t deadline= now_ns() + SECONDS_TO_SETTLE * 1000000000LL;
  for (;;)
  {
    rows_of(w, query, rows, sizeof(rows));
    if (!*rows || now_ns() > deadline)
      break;
    usleep(100000);
  }
  check(!*rows, name, "%s", rows);
}

static bool has_column(struct worker *w, const char *table, const char *column)
{
  char query[300], found[200];
  snprintf(query, sizeof(query), "SELECT 1 FROM information_schema.columns WHERE "
           "table_schema = 'information_schema' AND table_name = '%s' AND "
           "column_name = '%s'", table, column);
  rows_of(w, query, found, sizeof(found));
  return *found;
}

static void check_pool(struct worker *w)
{
  static const struct { const char *table, *key, *column; } zero[]=
  {
    {"THREAD_POOL_GROUPS", "GROUP_ID", "CONNECTIONS"},
    {"THREAD_POOL_GROUPS", "GROUP_ID", "ACTIVE_THREADS"},
    {"THREAD_POOL_GROUPS", "GROUP_ID", "WAITING_THREADS"},
    {"THREAD_POOL_GROUPS", "GROUP_ID", "BUSY_THREADS"},
    {"THREAD_POOL_GROUPS", "GROUP_ID", "QUEUE_LENGTH"},
    {"THREAD_POOL_GROUPS", "GROUP_ID", "LONG_STATEMENTS"},
    {"THREAD_POOL_GROUPS", "GROUP_ID", "EXEMPT_THREADS"},
    {"THREAD_POOL_GROUPS", "GROUP_ID", "RESERVE_THREADS"},
    {"THREAD_POOL_GROUPS", "GROUP_ID", "RETURNING_THREADS"},
    {"THREAD_POOL_GROUPS", "GROUP_ID", "HOT_TRANSACTIONS"},
    {"THREAD_POOL_GROUPS", "GROUP_ID", "OPEN_TRANSACTIONS"},
    {"THREAD_POOL_GROUPS", "GROUP_ID", "WAITING_TRANSACTIONS"},
    {"THREAD_POOL_WAITS", "REASON", "WAITING"},
    {"THREAD_POOL_GROUP_WAITS", "GROUP_ID", "WAITING"}
  };
  for (unsigned i= 0; i < sizeof(zero) / sizeof(*zero); i++)
  {
    char name[100], query[300];
    if (!has_column(w, zero[i].table, zero[i].column))
      continue;
    snprintf(name, sizeof(name), "%s of %s is 0", zero[i].column, zero[i].table);
    snprintf(query, sizeof(query), "SELECT %s, %s FROM information_schema.%s WHERE %s <> 0",
             zero[i].key, zero[i].column, zero[i].table, zero[i].column);
    check_settles(w, name, query);
  }
}

/* By each way in: it reads, and gets every lock that the clients fought for. */
static void check_transports(struct worker *w)
{
  static const char *const statements[]=
  {
    "SELECT * FROM big LIMIT 100",
    "BEGIN", "UPDATE hot SET v = v + 1", "UPDATE mass SET v = v + 1",
    "SELECT * FROM account FOR UPDATE", "COMMIT",
    "LOCK TABLES mdl WRITE, locked WRITE, later WRITE", "UNLOCK TABLES"
  };
  for (unsigned t= 0; t < TRANSPORTS; t++)
  {
    char name[100];
    const char *wrong= NULL;
    snprintf(name, sizeof(name), "a new connection by %s works", transport_names[t]);
    atomic_store(&w->doing, "checks");
    if (!session_open(w, t, CLIENT_USER, NULL))
      wrong= "it was refused";
    for (unsigned i= 0; !wrong && i < sizeof(statements) / sizeof(*statements); i++)
      if (run(w, "%s", statements[i]) != DONE)
        wrong= statements[i];
    check(!wrong, name, "%s", wrong);
    session_close(w);
  }
}

static void check_ledger(struct worker *w)
{
  char query[500], rows[200];
  uint64_t commits= 0, unknown= 0;
  snprintf(query, sizeof(query), "SELECT SUM(balance) FROM " DATABASE ".account "
           "HAVING SUM(balance) <> %u", BALANCE * options.accounts);
  check_empty(w, "no money was lost or made", query);
  snprintf(query, sizeof(query), "SELECT id, balance FROM " DATABASE ".account WHERE balance <> %u"
           " + (SELECT COALESCE(SUM(amount), 0) FROM " DATABASE ".journal WHERE target = id)"
           " - (SELECT COALESCE(SUM(amount), 0) FROM " DATABASE ".journal WHERE source = id)", BALANCE);
  check_empty(w, "each balance is what the journal says", query);

  char wrong[1000]= "";
  size_t used= 0;
  for (unsigned i= 0; i < options.clients; i++)
  {
    uint64_t low= atomic_load(&clients[i].commits);
    uint64_t high= low + atomic_load(&clients[i].unknown);
    commits+= low;
    unknown+= high - low;
    snprintf(query, sizeof(query), "SELECT COUNT(*) FROM " DATABASE ".journal WHERE client = %u",
             clients[i].number);
    rows_of(w, query, rows, sizeof(rows));
    unsigned long long found= strtoull(rows, NULL, 10);
    if ((found < low || found > high) && used + 200 < sizeof(wrong))
      used+= (size_t) snprintf(wrong + used, 200, "client %u: %s rows, should be %llu to %llu; ",
                               clients[i].number, rows, (unsigned long long) low,
                               (unsigned long long) high);
  }
  check(!used, "the journal has what each client committed", "%s", wrong);
  rows_of(w, "SELECT COUNT(*) FROM " DATABASE ".journal", rows, sizeof(rows));
  printf("%llu transfers were committed, %llu ended in doubt; the journal has %s\n",
         (unsigned long long) commits, (unsigned long long) unknown, rows);
  check(commits > 0, "there were transfers", "none");
}

void check_all(struct worker *admin)
{
  struct worker client= {.number= 0};
  atomic_store(&client.doing, "checks");
  check_errors();
  check(session_open(admin, BY_EXTRA_PORT, ADMIN_USER, NULL), "extra_port answers",
        "no connection");
  /* What is wrong may take long to be found. */
  if (admin->mysql)
    run(admin, "SET wait_timeout = 28800");
  check_settles(admin, "no connection is left",
    "SELECT id, user, command, state, info FROM information_schema.processlist "
    "WHERE id <> CONNECTION_ID() AND command <> 'Daemon' AND user NOT IN "
    "('system user', 'event_scheduler', 'DELAYED')");
  check_pool(admin);
  check_settles(admin, "no transaction is left",
    "SELECT trx_mysql_thread_id, trx_state FROM information_schema.innodb_trx");
  check_settles(admin, "no user-level lock is left",
    "SELECT seq FROM " DATABASE ".hot JOIN seq_0_to_2 ON id = 1 "
    "WHERE IS_FREE_LOCK(CONCAT('stress_', seq)) = 0");
  check_transports(&client);
  check_ledger(admin);
  if (options.enders)
    check_enders(admin);
  check_settles(admin, "these connections have gone too",
    "SELECT GROUP_ID, CONNECTIONS FROM information_schema.THREAD_POOL_GROUPS "
    "WHERE CONNECTIONS <> 0");
  session_close(admin);
}
