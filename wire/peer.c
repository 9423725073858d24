#include "peer.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Both queues of a socket. */
struct queues
{
  unsigned long out, in;
};

static unsigned own_port(int fd)
{
  struct sockaddr_in address;
  socklen_t size= sizeof(address);
  return getsockname(fd, (struct sockaddr *) &address, &size) ? 0 : ntohs(address.sin_port);
}

/* Those of the socket at port `local` that is connected to `remote`. */
static bool queues_in(const char *file, unsigned local, unsigned remote, struct queues *found)
{
  char line[512];
  bool done= false;
  FILE *f= fopen(file, "r");
  if (!f)
    return false;
  while (!done && fgets(line, sizeof(line), f))
  {
    struct queues q;
    unsigned its_local, its_remote, state;
    if (sscanf(line, " %*[^:]: %*[^:]:%x %*[^:]:%x %x %lx:%lx", &its_local, &its_remote, &state,
               &q.out, &q.in) == 5 && its_local == local && its_remote == remote)
    {
      *found= q;
      done= true;
    }
  }
  fclose(f);
  return done;
}

static bool queues_of_server(const struct connection *c, struct queues *found)
{
  unsigned own= own_port(c->fd);
  return own && (queues_in("/proc/net/tcp", c->server->port, own, found) ||
                 queues_in("/proc/net/tcp6", c->server->port, own, found));
}

long peer_unread(const struct connection *c)
{
  struct queues q;
  int size;
  if (c->transport->unix_socket)
    return ioctl(c->fd, SIOCOUTQ, &size) ? -1 : size;
  return queues_of_server(c, &q) ? (long) q.in : -1;
}

long peer_unsent(const struct connection *c)
{
  struct queues q;
  return !c->transport->unix_socket && queues_of_server(c, &q) ? (long) q.out : -1;
}
