/* Connections that never become sessions: they say nothing, or not enough. */
#include "stress.h"

#include <arpa/inet.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int connect_tcp(void)
{
  struct sockaddr_in address=
  {
    .sin_family= AF_INET,
    .sin_port= htons((uint16_t) options.port),
    .sin_addr= {htonl(INADDR_LOOPBACK)}
  };
  int fd= socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *) &address, sizeof(address)))
  {
    close(fd);
    fd= -1;
  }
  return fd;
}

static void read_greeting(int fd)
{
  char greeting[512];
  struct pollfd p= {.fd= fd, .events= POLLIN};
  if (poll(&p, 1, 2000) == 1)
    (void) !read(fd, greeting, sizeof(greeting));
}

/* What asks for TLS; the first bytes of a login are the same but for a flag. */
static void make_request(unsigned char *packet, size_t length, bool tls)
{
  unsigned flags= CLIENT_PROTOCOL_41 | CLIENT_SECURE_CONNECTION |
                  CLIENT_PLUGIN_AUTH | (tls ? CLIENT_SSL : 0);
  memset(packet, 0, length);
  packet[0]= (unsigned char) (length - 4);
  packet[3]= 1;
  for (unsigned i= 0; i < 4; i++)
    packet[4 + i]= (unsigned char) (flags >> 8 * i);
  packet[11]= 1;                /* 16 MB is the largest packet */
  packet[12]= 8;                /* latin1 */
}

void silent_connection(struct worker *w)
{
  unsigned char packet[100], garbage[64];
  int fd= connect_tcp();
  if (fd < 0)
    return;
  switch (below(w, 6)) {
  case 0:
    atomic_store(&w->doing, "a connection that does not listen");
    break;
  case 1:
    atomic_store(&w->doing, "a connection that says nothing");
    read_greeting(fd);
    break;
  case 2:
    atomic_store(&w->doing, "SSLRequest, then nothing");
    read_greeting(fd);
    make_request(packet, 36, true);
    (void) !send(fd, packet, 36, MSG_NOSIGNAL);
    break;
  case 3:
    atomic_store(&w->doing, "SSLRequest, then something else");
    read_greeting(fd);
    make_request(packet, 36, true);
    (void) !send(fd, packet, 36, MSG_NOSIGNAL);
    pause_ms(w, 5);
    for (unsigned i= 0; i < sizeof(garbage); i++)
      garbage[i]= (unsigned char) next_random(w);
    (void) !send(fd, garbage, sizeof(garbage), MSG_NOSIGNAL);
    break;
  case 4:
    atomic_store(&w->doing, "a part of a login");
    read_greeting(fd);
    make_request(packet, sizeof(packet), false);
    (void) !send(fd, packet, 10 + below(w, 60), MSG_NOSIGNAL);
    break;
  case 5:
    atomic_store(&w->doing, "a login without a user");
    read_greeting(fd);
    make_request(packet, sizeof(packet), false);
    (void) !send(fd, packet, sizeof(packet), MSG_NOSIGNAL);
    break;
  }
  pause_ms(w, one_in(w, 10) ? 2000 : 60);
  if (one_in(w, 2))
  {
    struct linger at_once= {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }
  close(fd);
}
