#include "program.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned lines, failures;

void die(const char *what, const char *why)
{
  fprintf(stderr, "%s: %s: %s\n", program_name, what, why);
  exit(2);
}

/* --- where the server is ------------------------------------------------------- */

bool server_option(struct server *s, int option)
{
  switch (option)
  {
  case 's': s->socket= optarg; return true;
  case 'p': s->port= (unsigned) strtoul(optarg, NULL, 10); return true;
  case 'u': s->user= optarg; return true;
  case 'w': s->password= optarg; return true;
  case 't': s->seconds= strtod(optarg, NULL); return true;
  default:  return false;
  }
}

bool server_is_known(const struct server *s)
{
  return s->socket && s->port && s->seconds > 0;
}

void server_for(struct server *s, const struct server *admin, const char *name)
{
  *s= *admin;
  s->user= s->password= s->database= name;
  s->tls= SSL_CTX_new(TLS_client_method());
  if (!s->tls)
    die("TLS", "SSL_CTX_new failed");
}

/* --- statements ---------------------------------------------------------------- */

bool ask(struct connection *c, const char *query, struct bytes *answer)
{
  struct batch b= {0};
  struct bytes complaint= {0};
  batch_query(&b, query, NULL);
  bool done= batch_send(&b, c, &PLAIN_SHAPE, &complaint) &&
    answer_read(c, ANSWER_TEXT, answer);
  batch_free(&b);
  bytes_free(&complaint);
  return done;
}

void must(struct connection *c, const char *query)
{
  struct bytes answer= {0};
  if (!ask(c, query, &answer))
    die(query, c->error);
  if (!strncmp(bytes_text(&answer), "error ", 6))
    die(query, bytes_text(&answer));
  bytes_free(&answer);
}

bool wait_answer(struct connection *c, const char *query, const char *wanted, double seconds)
{
  double until= now() + seconds;
  struct bytes answer= {0};
  bool good;
  while (!(good= ask(c, query, &answer) && !strcmp(bytes_text(&answer), wanted)) &&
         !*c->error && now() < until)
    poll(NULL, 0, 2);
  bytes_free(&answer);
  return good;
}

/* --- TAP ----------------------------------------------------------------------- */

void tap(bool good, const char *format, ...)
{
  va_list args;
  printf("%sok %u - ", good ? "" : "not ", ++lines);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  putchar('\n');
  failures+= !good;
}

unsigned tap_lines(void) { return lines; }

int tap_end(void)
{
  printf("1..%u\n", lines);
  return failures != 0;
}
