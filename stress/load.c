/*
  The load: clients that nobody ends, which transfer money all the time. And the book
  that each client keeps of its transfers, to be compared with the journal.
*/
#include "victim.h"

#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

struct transfer
{
  unsigned from, to, amount;
  enum knowledge known;
  bool found;
};

/* Each client has one, and alone writes to it until all have ended. */
struct book
{
  struct transfer *transfers;
  uint64_t count, room;
};
static struct book books[1000 + LOAD];

static struct transfer *transfer_of(struct worker *w, uint64_t number)
{
  return &books[w->number - 1].transfers[number - 1];
}

uint64_t transfer_new(struct worker *w, unsigned from, unsigned to, unsigned amount)
{
  struct book *b= &books[w->number - 1];
  if (b->count == b->room)
  {
    b->room= 2 * b->room + 100;
    b->transfers= realloc(b->transfers, b->room * sizeof(*b->transfers));
    if (!b->transfers)
      abort();
  }
  b->transfers[b->count++]= (struct transfer) {from, to, amount, NEVER, false};
  return b->count;
}

/* The counts are for the ledger's check: a COMMIT is in doubt until it is answered. */
void transfer_is(struct worker *w, uint64_t number, enum knowledge what)
{
  struct transfer *t= transfer_of(w, number);
  if (t->known == MAYBE)
    atomic_fetch_sub(&w->unknown, 1);
  if (t->known == COMMITTED)
    atomic_fetch_sub(&w->commits, 1);
  t->known= what;
  if (what == MAYBE)
    atomic_fetch_add(&w->unknown, 1);
  if (what == COMMITTED)
    atomic_fetch_add(&w->commits, 1);
}

void transfer_text(struct worker *w, uint64_t number, char *to, size_t size)
{
  const struct transfer *t= transfer_of(w, number);
  snprintf(to, size, "UPDATE account SET balance = balance - %u WHERE id = %u; "
           "UPDATE account SET balance = balance + %u WHERE id = %u; "
           "INSERT INTO journal VALUES (%u, %llu, %u, %u, %u)", t->amount, t->from, t->amount,
           t->to, w->number, (unsigned long long) number, t->from, t->to, t->amount);
}

/* --- the load --------------------------------------------------------------------- */

static _Atomic unsigned disturbed;

static void lost(const char *when)
{
  if (atomic_fetch_add(&disturbed, 1) < 10)
    check(false, "nobody ends the load", "%s", when);
}

static void transfer(struct worker *w)
{
  char text[600];
  unsigned from= 1 + below(w, ACCOUNTS), to= 1 + below(w, ACCOUNTS);
  uint64_t number= transfer_new(w, from, to, 1 + below(w, 100));
  bool at_once= one_in(w, 4);
  transfer_text(w, number, text, sizeof(text));
  enum outcome o;
  if (at_once)
  {
    transfer_is(w, number, MAYBE);
    o= run(w, "BEGIN; %s; COMMIT", text);
  }
  else
  {
    char *rest= text, *part;
    o= run(w, "BEGIN");
    while (o == DONE && (part= strsep(&rest, ";")))
      o= run(w, "%s", part);
    if (o == DONE)
    {
      transfer_is(w, number, MAYBE);
      o= run(w, "COMMIT");
    }
  }
  if (o == DONE)
    transfer_is(w, number, COMMITTED);
  else if (o == LOST)
    lost("a transfer");
  else if (run(w, "ROLLBACK") == DONE)
    /* Nobody kills it, so it was a lock: that is never the COMMIT's error. */
    transfer_is(w, number, NEVER);
  else
    lost("ROLLBACK");
}

void *load_main(void *worker)
{
  struct worker *w= worker;
  while (!atomic_load(&stopping))
  {
    /* All transports at any time, and new connections among them. */
    atomic_store(&w->doing, "load: login");
    if (!w->mysql && !session_open(w, w->number % TRANSPORTS, CLIENT_USER, "load"))
    {
      lost("a login");
      pause_ms(w, 100);
      continue;
    }
    atomic_store(&w->doing, "load");
    for (unsigned n= 1 + below(w, 400); n && w->mysql && !atomic_load(&stopping); n--)
    {
      transfer(w);
      pause_ms(w, 20);
    }
    session_close(w);
  }
  return NULL;
}

/* --- afterwards ------------------------------------------------------------------------ */

static uint32_t sum_of(unsigned client, uint64_t number, const struct transfer *t)
{
  char text[200];
  int length= snprintf(text, sizeof(text), "%u %llu %u %u %u", client, (unsigned long long) number,
                       t->from, t->to, t->amount);
  return (uint32_t) crc32(0, (const Bytef *) text, (uInt) length);
}

/* A line of the journal; false: it should not be there. */
static bool find(const unsigned long long *values)
{
  if (values[0] < 1 || values[0] > options.clients)
    return false;
  struct book *b= &books[values[0] - 1];
  if (values[1] < 1 || values[1] > b->count)
    return false;
  struct transfer *t= &b->transfers[values[1] - 1];
  bool right= !t->found && t->known != NEVER && t->from == values[2] && t->to == values[3] &&
    t->amount == values[4];
  t->found= true;
  return right;
}

static bool read_journal(struct worker *admin, char *wrong, size_t size)
{
  MYSQL_ROW row;
  MYSQL_RES *result= NULL;
  if (mysql_query(admin->mysql, "SELECT client, number, source, target, amount FROM " DATABASE
                  ".journal") || !(result= mysql_use_result(admin->mysql)))
  {
    snprintf(wrong, size, "%s", mysql_error(admin->mysql));
    return false;
  }
  unsigned bad= 0;
  while ((row= mysql_fetch_row(result)))
  {
    unsigned long long values[5];
    for (unsigned i= 0; i < 5; i++)
      values[i]= strtoull(row[i], NULL, 10);
    if (!find(values) && !bad++)
      snprintf(wrong, size, "client %llu, number %llu", values[0], values[1]);
  }
  mysql_free_result(result);
  return !bad;
}

void check_transfers(struct worker *admin)
{
  char wrong[200]= "", query[300];
  uint64_t missing= 0, load= 0;
  uint32_t sum= 0;
  check(read_journal(admin, wrong, sizeof(wrong)),
        "the journal has nothing that was not committed, and nothing is changed", "%s", wrong);
  for (unsigned i= 0; i < options.clients; i++)
    for (uint64_t n= 0; n < books[i].count; n++)
    {
      const struct transfer *t= &books[i].transfers[n];
      if (t->known != COMMITTED)
        continue;
      if (!t->found && !missing++)
        snprintf(wrong, sizeof(wrong), "client %u, number %llu", i + 1, (unsigned long long) n + 1);
      if (i < LOAD)
      {
        sum^= sum_of(i + 1, n + 1, t);
        load++;
      }
    }
  check(!missing, "the journal has each transfer whose COMMIT was answered",
        "%llu are missing, the first: %s", (unsigned long long) missing, wrong);
  /* In the load nothing is in doubt. */
  snprintf(query, sizeof(query), "SELECT COUNT(*), BIT_XOR(CRC32(CONCAT_WS(' ', client, number, "
           "source, target, amount))) FROM " DATABASE ".journal WHERE client <= %u", LOAD);
  MYSQL_RES *result= NULL;
  MYSQL_ROW row= NULL;
  if (!mysql_query(admin->mysql, query) && (result= mysql_store_result(admin->mysql)))
    row= mysql_fetch_row(result);
  check(row && strtoull(row[0], NULL, 10) == load && strtoull(row[1], NULL, 10) == sum,
        "the checksum of what the load committed is right", "%s transfers with %s, should be %llu "
        "with %u", row ? row[0] : "no", row ? row[1] : "", (unsigned long long) load, sum);
  printf("the load: %llu transfers, checksum %u\n", (unsigned long long) load, sum);
  mysql_free_result(result);
  for (unsigned i= 0; i < COUNT(books); i++)
    free(books[i].transfers);
}
