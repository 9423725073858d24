#include "server.h"

#include "units.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The fields of /proc/PID/stat after the name, which may hold blanks. */
static bool parse_stat(const char *text, struct server_use *use)
{
  unsigned long user, kernel;
  long threads, pages;
  const char *after= strrchr(text, ')');
  if (!after ||
      sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu "
             "%*d %*d %*d %*d %ld %*d %*u %*u %ld", &user, &kernel, &threads,
             &pages) != 4)
    return false;
  use->cpu= (int64_t) (user + kernel) * (NS_PER_S / sysconf(_SC_CLK_TCK));
  use->threads= (unsigned) threads;
  use->resident= (uint64_t) pages * (uint64_t) sysconf(_SC_PAGESIZE);
  return true;
}

/* The beginning of a file, as a string. */
static bool read_text(const char *path, char *text, size_t size)
{
  int fd= open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  ssize_t got= read(fd, text, size - 1);
  close(fd);
  if (got <= 0)
    return false;
  text[got]= 0;
  return true;
}

bool server_use_read(pid_t pid, struct server_use *use)
{
  char path[64], text[2048];
  snprintf(path, sizeof(path), "/proc/%ld/stat", (long) pid);
  return read_text(path, text, sizeof(text)) && parse_stat(text, use);
}

bool machine_use_read(struct machine_use *use)
{
  char text[512];
  unsigned long long t[8];
  /* user, nice, system, idle, iowait, irq, softirq, steal */
  if (!read_text("/proc/stat", text, sizeof(text)) ||
      sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1],
             &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != 8)
    return false;
  use->all= 0;
  for (unsigned i= 0; i < 8; i++)
    use->all+= t[i];
  use->idle= t[3] + t[4];
  use->stolen= t[7];
  return true;
}

pid_t server_pid_of_socket(const char *path)
{
  struct sockaddr_un address= {.sun_family= AF_UNIX};
  struct ucred peer= {0};
  socklen_t size= sizeof(peer);
  if (strlen(path) >= sizeof(address.sun_path))
    return 0;
  strcpy(address.sun_path, path);
  int fd= socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return 0;
  if (connect(fd, (struct sockaddr *) &address, sizeof(address)) ||
      getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
    peer.pid= 0;
  close(fd);
  return peer.pid;
}
