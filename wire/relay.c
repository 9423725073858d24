#include "relay.h"

#include "connection.h"

#include <ctype.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Header and head of the login packet */
#define REQUEST_SIZE 36
#define RECORD_HEADER 5
#define ARGUMENTS_MAX 60

static int listen_somewhere(unsigned *port)
{
  struct sockaddr_in address= {.sin_family= AF_INET, .sin_addr.s_addr= htonl(INADDR_LOOPBACK)};
  socklen_t size= sizeof(address);
  int fd= socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *) &address, size) || listen(fd, 1) ||
      getsockname(fd, (struct sockaddr *) &address, &size))
  {
    if (fd >= 0)
      close(fd);
    return -1;
  }
  *port= ntohs(address.sin_port);
  return fd;
}

/* In the child: does not come back. */
static void __attribute__((noreturn))
run_client(int output, unsigned port, char **client, char **options)
{
  char where[40], *arguments[ARGUMENTS_MAX];
  char *const before[]= {"--protocol=tcp", "--host=127.0.0.1", where, "--ssl", NULL};
  char *const behind[]= {"-N", "-e", "SELECT 1; SHOW STATUS LIKE 'Ssl_version'", NULL};
  char *const *const lists[]= {client, before, options, behind};
  unsigned count= 0;
  snprintf(where, sizeof(where), "--port=%u", port);
  for (unsigned i= 0; i < sizeof(lists) / sizeof(*lists); i++)
    for (char *const *word= lists[i]; *word && count < ARGUMENTS_MAX - 1; word++)
      arguments[count++]= *word;
  arguments[count]= NULL;
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execvp(arguments[0], arguments);
  perror(arguments[0]);
  _exit(127);
}

const char *relay_start(struct relay *r, int server, unsigned records, char **client, char **options,
                        double patience)
{
  unsigned port;
  int output[2], on= 1, listener= listen_somewhere(&port);
  *r= (struct relay) {.client= -1, .server= server, .records= records, .open= true};
  if (listener < 0 || pipe2(output, O_CLOEXEC))
    return "no socket or no pipe";
  fflush(stdout);
  r->pid= fork();
  if (!r->pid)
    run_client(output[1], port, client, options);
  close(output[1]);
  r->output= output[0];
  struct pollfd fd= {.fd= listener, .events= POLLIN};
  if (r->pid > 0 && poll(&fd, 1, (int) (1000 * patience)) == 1)
    r->client= accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  close(listener);
  if (r->client < 0)
    return "the client does not connect";
  setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  for (double until= now() + patience; !r->holds && r->open; )
  {
    if (now() > until)
      return "the client sends nothing";
    relay_pump(r, 100, NULL);
  }
  return NULL;
}

static void pass(struct relay *r, struct bytes *out, size_t size)
{
  bytes_add(out, r->from_client.data, size);
  bytes_drop(&r->from_client, size);
}

/* The request for TLS and the records that may come through. */
static void take_records(struct relay *r, struct bytes *out)
{
  struct bytes *in= &r->from_client;
  if (!r->requested && in->length >= REQUEST_SIZE)
  {
    pass(r, out, REQUEST_SIZE);
    r->requested= true;
  }
  while (r->requested && r->passed < r->records && in->length >= RECORD_HEADER)
  {
    size_t length= RECORD_HEADER + (size_t) in->data[3] * 256 + in->data[4];
    if (in->length < length)
      break;
    pass(r, out, length);
    r->passed++;
  }
  /* The client has to say something that it may not say yet */
  if (r->requested && r->passed == r->records && in->length)
    r->holds= true;
}

void write_all(int fd, const uint8_t *data, size_t size)
{
  while (size)
  {
    ssize_t n= send(fd, data, size, MSG_NOSIGNAL);
    if (n <= 0)
      return;
    data+= n;
    size-= (size_t) n;
  }
}

void relay_pump(struct relay *r, int wait_ms, writer *everything)
{
  struct pollfd fds[]= {{.fd= r->client, .events= POLLIN}, {.fd= r->server, .events= POLLIN}};
  static uint8_t got[65536];
  struct bytes out= {0};
  if (poll(fds, 2, wait_ms) > 0)
    for (unsigned i= 0; i < 2; i++)
    {
      if (!fds[i].revents)
        continue;
      ssize_t n= recv(fds[i].fd, got, sizeof(got), 0);
      if (n <= 0)
      {
        relay_hang_up(r);
        return;
      }
      if (fds[i].fd == r->server)
        write_all(r->client, got, (size_t) n);
      else
        bytes_add(&r->from_client, got, (size_t) n);
    }
  if (everything)
    pass(r, &out, r->from_client.length);
  else
    take_records(r, &out);
  if (out.length)
    (everything ? everything : write_all)(r->server, out.data, out.length);
  bytes_free(&out);
}

bool relay_finish(struct relay *r, writer *everything, double patience)
{
  for (double until= now() + patience; r->open; relay_pump(r, 100, everything))
    if (now() > until)
      return false;
  return true;
}

bool relay_wait(struct relay *r, double patience)
{
  return relay_finish(r, NULL, patience);
}

void relay_hang_up(struct relay *r)
{
  if (!r->open)
    return;
  close(r->client);
  close(r->server);
  r->open= false;
}

void relay_output(struct relay *r, struct bytes *to)
{
  int c, before= 0;
  FILE *f= fdopen(r->output, "r");
  while (f && (c= getc(f)) != EOF)
  {
    if (isspace(c))
      c= ' ';
    if (c != ' ' || before != ' ')
      bytes_add_int(to, (unsigned) c, 1);
    before= c;
  }
  if (f)
    fclose(f);
  if (to->length && to->data[to->length - 1] == ' ')
    to->length--;
  waitpid(r->pid, NULL, 0);
  bytes_free(&r->from_client);
}
