#include "stress.h"

#include <errmsg.h>
#include <fcntl.h>
#include <mysqld_error.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

const char *const transport_names[]=
{
  "TCP", "Unix socket", "TLS", "compression", "TLS and compression", "extra_port"
};

int64_t now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* --- chance: the same for each thread whenever the seed is the same ----------- */

uint64_t next_random(struct worker *w)
{
  /* splitmix64 */
  uint64_t z= (w->random+= 0x9e3779b97f4a7c15ULL);
  z= (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z= (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

void seed_random(struct worker *w, uint64_t stream)
{
  w->random= stream;
  /* Neighbouring streams begin far from each other. */
  w->random= options.seed ^ next_random(w);
}

unsigned below(struct worker *w, unsigned limit)
{
  return (unsigned) (next_random(w) % limit);
}

bool one_in(struct worker *w, unsigned n) { return below(w, n) == 0; }

void pause_ms(struct worker *w, unsigned max)
{
  usleep(below(w, max * 1000) + 1);
}

/* --- errors --------------------------------------------------------------------- */

#define CODES 6000
static _Atomic uint64_t errors[CODES];
static char *first_text[CODES];
static pthread_mutex_t texts= PTHREAD_MUTEX_INITIALIZER;

void count_error(unsigned code, const char *text)
{
  if (code >= CODES)
    code= 0;
  if (atomic_fetch_add(&errors[code], 1) == 0)
  {
    pthread_mutex_lock(&texts);
    first_text[code]= strdup(text);
    pthread_mutex_unlock(&texts);
  }
}

/* Those of connections before the server was there. */
void forget_errors(void)
{
  for (unsigned i= 0; i < CODES; i++)
  {
    atomic_store(&errors[i], 0);
    free(first_text[i]);
    first_text[i]= NULL;
  }
}

uint64_t errors_counted(void)
{
  uint64_t all= 0;
  for (unsigned i= 0; i < CODES; i++)
    all+= atomic_load(&errors[i]);
  return all;
}

/* Locks that are not got, kills, and connections that break: all are meant. */
static const unsigned expected[]=
{
  ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK, ER_QUERY_INTERRUPTED,
  ER_CONNECTION_KILLED, ER_STATEMENT_TIMEOUT, ER_NO_SUCH_THREAD,
  /* a variable that this server does not have, or that not everybody may set */
  ER_UNKNOWN_SYSTEM_VARIABLE, ER_SPECIFIC_ACCESS_DENIED_ERROR,
  /* ALTER TABLE between the snapshot and the statement */
  ER_TABLE_DEF_CHANGED,
  ER_NET_READ_ERROR, ER_NET_READ_INTERRUPTED, ER_NET_ERROR_ON_WRITE,
  ER_NET_WRITE_INTERRUPTED, ER_NEW_ABORTING_CONNECTION,
  /* KILL QUERY just before the check for a killed statement */
  ER_SERVER_SHUTDOWN,
  /* a wrong password, which is tried too */
  ER_ACCESS_DENIED_ERROR,
  /* LOAD DATA LOCAL that the client breaks off; INSERT DELAYED that is killed */
  CR_UNKNOWN_ERROR, ER_DELAYED_CANT_CHANGE_LOCK,
  /* a log that was purged before its dump began; two dumps with one server_id */
  ER_MASTER_FATAL_ERROR_READING_BINLOG, ER_UNKNOWN_TARGET_BINLOG, ER_LOG_IN_USE,
  ER_SLAVE_SAME_ID,
  /* a COMMIT that is killed while it waits for FLUSH TABLES WITH READ LOCK */
  ER_ERROR_DURING_COMMIT,
  CR_SERVER_LOST, CR_SERVER_GONE_ERROR, CR_SERVER_LOST_EXTENDED,
  CR_SSL_CONNECTION_ERROR
};

void check_errors(void)
{
  char unexpected[4000]= "";
  size_t used= 0;
  printf("errors that the clients saw:\n");
  for (unsigned code= 0; code < CODES; code++)
  {
    uint64_t n= atomic_load(&errors[code]);
    bool known= false;
    if (!n)
      continue;
    for (unsigned i= 0; i < sizeof(expected) / sizeof(*expected); i++)
      known= known || expected[i] == code;
    printf("    %8llu  %u %s%s\n", (unsigned long long) n, code,
           first_text[code] ? first_text[code] : "", known ? "" : " (unexpected)");
    if (!known && used < sizeof(unexpected) - 200)
      used+= (size_t) snprintf(unexpected + used, 200, "%u ", code);
  }
  check(!used, "the clients saw no unexpected errors", "%s", unexpected);
}

/* --- connections ---------------------------------------------------------------- */

void begin_call(struct worker *w) { atomic_store(&w->since, now_ns()); }

static bool is_fatal(unsigned code)
{
  switch (code) {
  case CR_SERVER_LOST: case CR_SERVER_GONE_ERROR: case CR_SERVER_LOST_EXTENDED:
  case CR_SSL_CONNECTION_ERROR: case CR_MALFORMED_PACKET:
  case ER_CONNECTION_KILLED: case ER_SERVER_SHUTDOWN:
  case ER_NET_READ_ERROR: case ER_NET_READ_INTERRUPTED:
  case ER_NET_ERROR_ON_WRITE: case ER_NET_WRITE_INTERRUPTED:
  case ER_NEW_ABORTING_CONNECTION:
    return true;
  }
  return false;
}

enum outcome end_call(struct worker *w, bool failed)
{
  atomic_store(&w->since, 0);
  atomic_fetch_add(&w->statements, 1);
  if (!failed)
    return DONE;
  unsigned code= mysql_errno(w->mysql);
  count_error(code, mysql_error(w->mysql));
  if (!is_fatal(code))
    return REFUSED;
  session_close(w);
  return LOST;
}

bool session_open(struct worker *w, enum way t, const char *user,
                  const char *program)
{
  my_bool yes= 1;
  unsigned local_infile= 1;
  /* Longer than the watchdog waits, which is to find the server as it is. */
  unsigned timeout= 2 * options.hang;
  unsigned protocol= t == BY_SOCKET ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
  MYSQL *mysql= mysql_init(NULL);
  if (!mysql)
    abort();
  mysql_options(mysql, MYSQL_OPT_PROTOCOL, &protocol);
  mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &timeout);
  mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &timeout);
  mysql_options(mysql, MYSQL_OPT_WRITE_TIMEOUT, &timeout);
  mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE, &local_infile);
  mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "latin1");
  if (program)
    mysql_options4(mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", program);
  if (t == BY_TLS || t == BY_TLS_COMPRESSION)
    mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &yes);
  if (t == BY_COMPRESSION || t == BY_TLS_COMPRESSION)
    mysql_options(mysql, MYSQL_OPT_COMPRESS, NULL);
  w->mysql= mysql;
  w->transport= t;
  begin_call(w);
  bool failed= !mysql_real_connect(mysql, t == BY_SOCKET ? NULL : "127.0.0.1",
                                   user, strcmp(user, "root") ? PASSWORD : "",
                                   strcmp(user, "root") ? DATABASE : NULL,
                                   t == BY_EXTRA_PORT ? options.extra_port :
                                                        options.port,
                                   t == BY_SOCKET ? options.socket : NULL,
                                   CLIENT_MULTI_STATEMENTS);
  atomic_store(&w->since, 0);
  if (failed)
  {
    count_error(mysql_errno(mysql), mysql_error(mysql));
    session_close(w);
    return false;
  }
  atomic_fetch_add(&w->connects, 1);
  atomic_store(&w->id, mysql_thread_id(mysql));
  return true;
}

void session_close(struct worker *w)
{
  atomic_store(&w->id, 0);
  if (w->mysql)
    mysql_close(w->mysql);
  w->mysql= NULL;
}

void session_drop(struct worker *w)
{
  struct linger at_once= {1, 0};
  int fd= mysql_get_socket(w->mysql);
  if (one_in(w, 2))
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  /* So that the library, which says good-bye, speaks to nobody. */
  dup2(null_fd, fd);
  session_close(w);
}

/* --- statements ------------------------------------------------------------------ */

enum outcome take_results(struct worker *w)
{
  int more;
  do
  {
    MYSQL_RES *result= mysql_use_result(w->mysql);
    if (result)
    {
      while (mysql_fetch_row(result)) {}
      bool failed= mysql_errno(w->mysql) != 0;
      mysql_free_result(result);
      if (failed)
        return end_call(w, true);
    }
    else if (mysql_errno(w->mysql))
      return end_call(w, true);
    more= mysql_next_result(w->mysql);
  } while (more == 0);
  return end_call(w, more > 0);
}

enum outcome run(struct worker *w, const char *format, ...)
{
  char text[1000];
  va_list args;
  va_start(args, format);
  int length= vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (length < 0 || (size_t) length >= sizeof(text))
    abort();
  begin_call(w);
  if (mysql_real_query(w->mysql, text, (unsigned long) length))
    return end_call(w, true);
  return take_results(w);
}

bool tidy(struct worker *w, const char *statement)
{
  switch (run(w, "%s", statement)) {
  case DONE: return true;
  case REFUSED: session_drop(w); return false;
  case LOST: break;
  }
  return false;
}
