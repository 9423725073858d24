/*
  tptop: shows the thread pool of a MariaDB server, live. doc/tptop.md describes
  it, "tptop --help" the options.

  This file only puts the parts together: options.c reads what is asked for,
  connection.c and sample.c ask the server, model.c computes, screen.c and
  batch.c show it; watcher.c is the thread that reads while the screen is up.
*/
#include "batch.h"
#include "connection.h"
#include "options.h"
#include "screen.h"
#include "text.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int fail(struct options *options, int status, const char *what)
{
  fprintf(stderr, "tptop: %s\n", what);
  options_free(options);
  return status;
}

int main(int argc, char **argv)
{
  struct options options;
  struct connection connection;
  int status;
  setlocale(LC_CTYPE, "");
  options_read(&options, argc, argv);
  text_use_utf8(!options.ascii && !strcmp(nl_langinfo(CODESET), "UTF-8"));
  if (!options.batch && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
    return fail(&options, EXIT_USAGE, "this is no terminal; use --batch");
  if (mysql_library_init(0, NULL, NULL))
    return fail(&options, EXIT_FAILED, "the client library does not start");
  connection_init(&connection, &options);
  if (!connection_open(&connection, false))
  {
    fprintf(stderr, "tptop: cannot connect to %s: %s\n", connection.place,
            connection.error);
    options_free(&options);
    return EXIT_FAILED;
  }
  if (connection.why_extra[0])
    fprintf(stderr, "tptop: connected by the extra way, %s, because of: %s\n",
            connection.place, connection.why_extra);
  if (options.batch)
  {
    status= batch_run(&options, &connection);
    connection_close(&connection);
  }
  else
    status= screen_run(&options, &connection);
  options_free(&options);
  return status;
}
