#include "connection.h"

#include "text.h"

#include <errmsg.h>
#include <mysqld_error.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A query that takes longer is one of a server that doesn't answer. */
#define READ_TIMEOUT 10

/* The ways to the server. */
enum way { MAIN_WAY, EXTRA_SOCKET, EXTRA_PORT };

void connection_init(struct connection *connection, const struct options *options)
{
  memset(connection, 0, sizeof(*connection));
  connection->options= options;
}

void connection_close(struct connection *connection)
{
  if (connection->mysql)
    mysql_close(connection->mysql);
  connection->mysql= NULL;
}

static void keep_error(struct connection *c, MYSQL *mysql)
{
  const char *text= mysql_error(mysql);
  c->error_code= mysql_errno(mysql);
  text_clean(c->error, sizeof(c->error), text, strlen(text));
  if (!c->error[0])
    snprintf(c->error, sizeof(c->error), "error %u", c->error_code);
}

static void set_tls(MYSQL *mysql, const struct options *o)
{
  my_bool on= 1;
  mysql_optionsv(mysql, MYSQL_OPT_SSL_KEY, o->ssl_key);
  mysql_optionsv(mysql, MYSQL_OPT_SSL_CERT, o->ssl_cert);
  mysql_optionsv(mysql, MYSQL_OPT_SSL_CA, o->ssl_ca);
  mysql_optionsv(mysql, MYSQL_OPT_SSL_CAPATH, o->ssl_capath);
  mysql_optionsv(mysql, MYSQL_OPT_SSL_CIPHER, o->ssl_cipher);
  mysql_optionsv(mysql, MYSQL_OPT_SSL_CRL, o->ssl_crl);
  mysql_optionsv(mysql, MYSQL_OPT_SSL_CRLPATH, o->ssl_crlpath);
  if (o->tls_version)
    mysql_optionsv(mysql, MARIADB_OPT_TLS_VERSION, o->tls_version);
  if (o->ssl || o->ssl_verify)
    mysql_optionsv(mysql, MYSQL_OPT_SSL_ENFORCE, &on);
  if (o->ssl_verify)
    mysql_optionsv(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &on);
}

static MYSQL *prepare(const struct options *o)
{
  unsigned connect_timeout= (unsigned) o->connect_timeout, timeout= READ_TIMEOUT;
  MYSQL *mysql= mysql_init(NULL);
  if (!mysql)
    return NULL;
  mysql_optionsv(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &connect_timeout);
  mysql_optionsv(mysql, MYSQL_OPT_READ_TIMEOUT, &timeout);
  mysql_optionsv(mysql, MYSQL_OPT_WRITE_TIMEOUT, &timeout);
  mysql_optionsv(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_optionsv(mysql, MYSQL_OPT_CONNECT_ATTR_RESET, NULL);
  mysql_optionsv(mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "tptop");
  if (o->plugin_dir)
    mysql_optionsv(mysql, MYSQL_PLUGIN_DIR, o->plugin_dir);
  if (o->default_auth)
    mysql_optionsv(mysql, MYSQL_DEFAULT_AUTH, o->default_auth);
  if (o->compress)
    mysql_optionsv(mysql, MYSQL_OPT_COMPRESS, NULL);
  if (!o->no_ssl)
    set_tls(mysql, o);
  return mysql;
}

static bool is_local(const char *host) { return !host || !strcmp(host, "localhost"); }

static int64_t extra_port_of(const struct connection *c)
{
  return c->options->extra_port ? c->options->extra_port : c->learned_port;
}

/* Whether this way exists, and then which host, port and socket it means. */
static bool describe_way(struct connection *c, enum way way, const char **host,
                         unsigned *port, const char **socket)
{
  const struct options *o= c->options;
  bool tcp;
  *host= o->host;
  *port= (unsigned) o->port;
  *socket= o->socket;
  switch (way) {
  case MAIN_WAY:
    /* As for the other clients: a port alone means TCP, a host of its own too. */
    tcp= !is_local(o->host) || (o->protocol && !strcasecmp(o->protocol, "tcp")) ||
         (o->port && !o->socket && !o->protocol);
    break;
  case EXTRA_SOCKET:
    tcp= false;
    *socket= o->extra_socket;
    if (!*socket)
      return false;
    break;
  default:
    tcp= true;
    *port= (unsigned) extra_port_of(c);
    if (!*port)
      return false;
  }
  if (tcp)
  {
    /* "localhost" means a socket to the library. */
    if (is_local(*host))
      *host= "127.0.0.1";
    *socket= NULL;
    snprintf(c->place, sizeof(c->place), *port ? "%s port %u" : "%s", *host, *port);
  }
  else
  {
    *host= "localhost";
    *port= 0;
    snprintf(c->place, sizeof(c->place), *socket ? "socket %s" : "localhost",
             *socket);
  }
  return true;
}

/* True if this way was there; connection->mysql says whether it worked. */
static bool try_way(struct connection *c, enum way way)
{
  const struct options *o= c->options;
  const char *host, *socket;
  char place[sizeof(c->place)];
  unsigned port;
  memcpy(place, c->place, sizeof(place));
  if (!describe_way(c, way, &host, &port, &socket))
  {
    memcpy(c->place, place, sizeof(place));
    return false;
  }
  c->by_extra_way= way != MAIN_WAY;
  MYSQL *mysql= prepare(o);
  if (!mysql)
  {
    c->error_code= CR_OUT_OF_MEMORY;
    snprintf(c->error, sizeof(c->error), "out of memory");
    return true;
  }
  if (mysql_real_connect(mysql, host, o->user, o->password, NULL, port, socket, 0))
  {
    c->mysql= mysql;
    /* Who looks at a long queue should not stand in it for each question. */
    mysql_query(mysql, "SET SESSION thread_pool_priority = 'high'");
    c->error_code= 0;
    c->error[0]= 0;
  }
  else
  {
    keep_error(c, mysql);
    mysql_close(mysql);
  }
  return true;
}

/* Full, or it doesn't answer: then the extra way may be open. */
static bool another_way_may_help(unsigned code)
{
  return code == ER_CON_COUNT_ERROR || code == CR_CONNECTION_ERROR ||
         code == CR_CONN_HOST_ERROR || code == CR_SERVER_LOST ||
         code == CR_SERVER_LOST_EXTENDED;
}

static bool try_extra_ways(struct connection *c)
{
  char first[sizeof(c->error)], place[sizeof(c->place)];
  unsigned code= c->error_code;
  memcpy(first, c->error, sizeof(first));
  memcpy(place, c->place, sizeof(place));
  for (enum way way= EXTRA_SOCKET; way <= EXTRA_PORT && !c->mysql; way++)
    if (try_way(c, way) && !c->mysql)
    {
      char other[sizeof(c->error)];
      snprintf(other, sizeof(other), "%.240s; the extra way, %.100s: %.150s", first,
               c->place, c->error);
      memcpy(first, other, sizeof(first));
    }
  if (c->mysql)
    snprintf(c->why_extra, sizeof(c->why_extra), "%.200s", first);
  else
  {
    memcpy(c->error, first, sizeof(first));
    memcpy(c->place, place, sizeof(place));
    c->error_code= code;
  }
  return c->mysql != NULL;
}

bool connection_has_extra_way(const struct connection *connection)
{
  return connection->options->extra_socket || extra_port_of(connection);
}

bool connection_open(struct connection *connection, bool extra_first)
{
  connection_close(connection);
  connection->why_extra[0]= 0;
  if (extra_first && connection_has_extra_way(connection))
  {
    if (try_extra_ways(connection))
      return true;
  }
  try_way(connection, MAIN_WAY);
  if (connection->mysql)
    return true;
  return another_way_may_help(connection->error_code) &&
         try_extra_ways(connection);
}

/* --- questions ----------------------------------------------------------------- */

/* Whether the connection can't be used any more. */
static bool is_lost(unsigned code)
{
  return code == CR_SERVER_GONE_ERROR || code == CR_SERVER_LOST ||
         code == CR_SERVER_LOST_EXTENDED || code == CR_COMMANDS_OUT_OF_SYNC ||
         code == CR_MALFORMED_PACKET || code == ER_SERVER_SHUTDOWN ||
         code == ER_CONNECTION_KILLED;
}

static void failed(struct connection *c)
{
  keep_error(c, c->mysql);
  if (is_lost(c->error_code))
    connection_close(c);
}

bool connection_do(struct connection *connection, const char *statement)
{
  if (!connection->mysql)
    return false;
  if (!mysql_real_query(connection->mysql, statement, strlen(statement)))
    return true;
  failed(connection);
  return false;
}

MYSQL_RES *connection_query(struct connection *connection, const char *query)
{
  if (!connection_do(connection, query))
    return NULL;
  MYSQL_RES *result= mysql_store_result(connection->mysql);
  if (!result)
    failed(connection);
  return result;
}
