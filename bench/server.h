/* What the server's process and the machine use, read from /proc. */
#ifndef TPBENCH_SERVER_H
#define TPBENCH_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct server_use
{
  int64_t cpu;                  /* ns, of all threads, ended ones included */
  unsigned threads;
  uint64_t resident;            /* bytes */
};

/* False if there is no such process, or it may not be looked at. */
bool server_use_read(pid_t pid, struct server_use *use);
/*
  CPU time of the whole machine since it started, in ticks: how much of it was
  idle, and how much the host gave to other guests ("steal"). False if it is
  not told.
*/
struct machine_use
{
  uint64_t all, idle, stolen;
};
bool machine_use_read(struct machine_use *use);

/* The process at the other end of a Unix socket, or 0. */
pid_t server_pid_of_socket(const char *path);

#endif
