/* Copyright (c) 2026, the Millrace developers.

   This program is free software; you can redistribute it and/or modify
   it under the terms of the GNU General Public License as published by
   the Free Software Foundation; version 2 of the License.

   This program is distributed in the hope that it will be useful,
   but WITHOUT ANY WARRANTY; without even the implied warranty of
   MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the
   GNU General Public License for more details.

   You should have received a copy of the GNU General Public License
   along with this program; if not, write to the Free Software
   Foundation, Inc., 51 Franklin Street, Fifth Floor, Boston, MA 02110-1335 USA */

/*
  Runs a program that may not call some functions of the kernel, as in a container with a
  strict seccomp profile:

    forbid CALL... -- PROGRAM [ARGUMENT]...

  Each of these calls fails with EPERM in the program, and in all that it starts. For
  ci/no-privileges.
*/

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <unistd.h>

enum { MAX_CALLS= 16 };

static const struct { const char *name; int number; } calls[]=
{
  { "getpriority", SYS_getpriority },
  { "sched_getaffinity", SYS_sched_getaffinity },
  { "sched_setattr", SYS_sched_setattr },
  { "sched_setscheduler", SYS_sched_setscheduler },
  { "setpriority", SYS_setpriority },
};


static int number_of(const char *name)
{
  for (size_t i= 0; i < sizeof calls / sizeof *calls; i++)
  {
    if (!strcmp(calls[i].name, name))
      return calls[i].number;
  }
  fprintf(stderr, "forbid: unknown call: %s\n", name);
  exit(2);
}


int main(int argc, char **argv)
{
  struct sock_filter filter[2 * MAX_CALLS + 2];
  unsigned short length= 0;
  int arg= 1;
  filter[length++]= (struct sock_filter)
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (; arg < argc && strcmp(argv[arg], "--") && arg <= MAX_CALLS; arg++)
  {
    filter[length++]= (struct sock_filter)
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned) number_of(argv[arg]), 0, 1);
    filter[length++]= (struct sock_filter)
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  }
  filter[length++]= (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  if (arg + 1 >= argc || strcmp(argv[arg], "--"))
  {
    fprintf(stderr, "usage: forbid CALL... -- PROGRAM [ARGUMENT]...\n");
    return 2;
  }
  struct sock_fprog program= { length, filter };
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
  {
    perror("forbid: seccomp");
    return 3;
  }
  execvp(argv[arg + 1], argv + arg + 1);
  perror(argv[arg + 1]);
  return 1;
}
