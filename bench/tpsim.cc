/*
  tpsim: simulates the thread pool, for machines that one does not have.

  The decisions about transactions and threads are those of the pool itself: its headers
  are compiled in. Processors, clients and rows are numbers here; see
  unittest/sql/threadpool_simulation.h in the patched tree for what is simulated, and
  doc/simulation.md for what the results are worth.
*/
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <vector>
#include "threadpool_simulation.h"

/* An option with a number, and what it sets */
struct Setting
{
  const char *name;
  int Sim_load::*whole;
  double Sim_load::*real;
  double least;
  const char *help;
};

static const Setting settings[]=
{
  {"processors", &Sim_load::processors, NULL, 1, "of the server; default 2"},
  {"groups", &Sim_load::groups, NULL, 1, "thread_pool_size; default: as many as processors"},
  {"clients", &Sim_load::clients, NULL, 1, "default 64"},
  {"statements", &Sim_load::statements, NULL, 1, "of a transaction; default 5"},
  {"service", NULL, &Sim_load::service, 0, "processor time of a statement, us; default 26"},
  {"commit", NULL, &Sim_load::commit, 0, "what the last one takes beyond that, us"},
  {"commit-wait", NULL, &Sim_load::commit_wait, 0, "how long it waits for the disk, us"},
  {"pause", NULL, &Sim_load::pause, 0, "of a client between statements, us; default 0"},
  {"think", NULL, &Sim_load::think, 0, "of a client between transactions, us; default 0"},
  {"spread", NULL, &Sim_load::spread, 0, "part by which these differ; default 0.5"},
  {"ramp", NULL, &Sim_load::ramp, 0, "clients begin within this time, us; default 1000"},
  {"rows", &Sim_load::rows, NULL, 0, "hot ones, of which each transaction locks one; default 0"},
  {"busy-group", &Sim_load::busy_group_clients, NULL, 0, "so many clients are in the first group"},
  {"idle", &Sim_load::idle_in_transaction, NULL, 0, "so many begin a transaction and nothing more"},
  {"limit", &Sim_load::limit, NULL, -1, "thread_pool_max_transactions_limit, -1: default, 0: none"},
  {"client", NULL, &Sim_load::client, 0,
   "processor time of the client program for a statement, us, on\n"
   "                     the same machine; default 0: it is elsewhere"},
  {"client-threads", &Sim_load::client_threads, NULL, 1, "of that program; default 1"},
  {"switch", NULL, &Sim_load::switch_cost, 0, "cost of another thread on a processor, us; default 8"},
  {"wake", NULL, &Sim_load::wake_cost, 0, "cost of waking a thread, us; default 5"},
  {"from-idle", NULL, &Sim_load::idle_cost, 0, "until an idle processor has begun, us; default 30"},
  {"poll", NULL, &Sim_load::poll_cost, 0, "cost of a look at the network, us; default 5"},
  {"lock", NULL, &Sim_load::lock_cost, 0, "cost of a wait for a row, us; default 60"},
  {"cold", NULL, &Sim_load::cold_cost, 0,
   "cost of beginning a transaction with more than 256\n"
   "                     clients, us; default 40"},
  {"open", NULL, &Sim_load::open_cost, 0,
   "cost of a statement for each open transaction, us;\n"
   "                     default 0.024"},
  {"seconds", NULL, &Sim_load::seconds, 0.001, "simulated, with the warm-up; default 2"},
  {"warmup", NULL, &Sim_load::warmup, 0, "of these, seconds that don't count; default 0.5"},
};

static const int SETTINGS= sizeof settings / sizeof *settings;
enum { O_FIXED= 1000, O_CSV, O_CURVE, O_SEED, O_HELP };

static void usage(FILE *out)
{
  fputs("Usage: tpsim [OPTION]...\n"
        "Simulates the thread pool under a load, by the policy code of the pool.\n\n", out);
  for (const Setting &s : settings)
    fprintf(out, "  --%-17s%s\n", (std::string(s.name) + "=N").c_str(), s.help);
  fputs("  --fixed            thread_pool_max_transactions_adaptive is off\n"
        "  --seed=N           of the random numbers; default 1\n"
        "  --curve=X[:N,...]  a line for each of these values of an option X above\n"
        "  --csv              comma-separated\n"
        "  --help             this text\n", out);
}

[[noreturn]] static void fail(const std::string &text)
{
  fprintf(stderr, "tpsim: %s\n", text.c_str());
  exit(2);
}

static const Setting *find(const std::string &name)
{
  for (const Setting &s : settings)
    if (name == s.name)
      return &s;
  return NULL;
}

static double number(const std::string &name, const char *text)
{
  char *end;
  errno= 0;
  double value= strtod(text, &end);
  if (errno || end == text || *end || !(value >= -1 && value <= 1e9))
    fail("--" + name + ": not a number in its range: " + text);
  return value;
}

static void set(Sim_load *load, const Setting *s, double value)
{
  if (value < s->least || (s->whole && value != (int) value))
    fail(std::string("--") + s->name + ": not a number in its range");
  if (s->whole)
    load->*s->whole= (int) value;
  else
    load->*s->real= value;
}

static void check(const Sim_load &load)
{
  if (load.warmup >= load.seconds)
    fail("--warmup has to be less than --seconds");
  if (load.spread > 1)
    fail("--spread: not a number in its range");
  if (load.processors > 4096 || load.groups > 100000 || load.clients > 1000000)
    fail("that is more than can be simulated");
}

/** The values of a curve: its name, and the numbers after the colon */
static const Setting *parse_curve(const std::string &text, std::vector<double> *values)
{
  size_t colon= text.find(':');
  std::string name= text.substr(0, colon);
  const Setting *s= find(name);
  if (!s)
    fail("--curve: no such option: " + name);
  std::string list= colon == std::string::npos ? "" : text.substr(colon + 1);
  if (colon == std::string::npos)
    list= name == "processors" ? "4,16,64,128" : name == "clients" ? "1,8,64,512,2048,8192" :
          name == "groups" ? "2,8,64,128" : name == "limit" ? "8,16,32,64,128,256,512,1024" : "";
  for (size_t at= 0; at < list.size(); )
  {
    size_t comma= list.find(',', at);
    if (comma == std::string::npos)
      comma= list.size();
    values->push_back(number("curve", list.substr(at, comma - at).c_str()));
    at= comma + 1;
  }
  if (values->empty())
    fail("--curve=" + name + " needs values: --curve=" + name + ":1,2,3");
  return s;
}

static void print_head(bool csv)
{
  puts(csv ? "processors,groups,clients,limit,transactions_per_s,p50_us,p99_us,statement_p99_us,"
             "server_cpu_us,in_use,threads,most_open,mean_limit,limit_deviation,escapes_per_s" :
             "processors groups clients limit  trans/s    p50 ms    p99 ms  CPU us  in use  threads"
             "  open  mean limit");
}

static void print(const Sim_load &load, const Sim_result &r, bool csv)
{
  double deviation;
  double limit= r.mean_limit(1 - load.warmup / load.seconds, &deviation);
  int base= load.limit < 0 ? tp_default_credits(load.processors) : load.limit;
  if (csv)
    printf("%d,%d,%d,%d,%.0f,%.0f,%.0f,%.0f,%.1f,%.3f,%d,%d,%.1f,%.1f,%.0f\n",
           load.processors, load.groups, load.clients, base, r.rate(),
           r.latency.percentile(50), r.latency.percentile(99),
           r.statement_latency.percentile(99), r.cpu(), r.in_use(load.processors),
           r.most_threads, r.most_open, limit, deviation, r.escapes / r.seconds);
  else
    printf("%10d %6d %7d %5d %8.0f %9.2f %9.2f %7.0f %7.2f %8d %5d %6.0f +- %.0f\n",
           load.processors, load.groups, load.clients, base, r.rate(),
           r.latency.percentile(50) / 1000, r.latency.percentile(99) / 1000, r.cpu(),
           r.in_use(load.processors), r.most_threads, r.most_open, limit, deviation);
  fflush(stdout);
}

int main(int argc, char **argv)
{
  Sim_load load;
  bool csv= false, groups_given= false;
  std::vector<double> values;
  const Setting *curve= NULL;
  std::vector<option> options;
  for (int i= 0; i < SETTINGS; i++)
    options.push_back(option{settings[i].name, required_argument, NULL, i});
  options.push_back(option{"fixed", no_argument, NULL, O_FIXED});
  options.push_back(option{"csv", no_argument, NULL, O_CSV});
  options.push_back(option{"curve", required_argument, NULL, O_CURVE});
  options.push_back(option{"seed", required_argument, NULL, O_SEED});
  options.push_back(option{"help", no_argument, NULL, O_HELP});
  options.push_back(option{NULL, 0, NULL, 0});

  for (int o; (o= getopt_long(argc, argv, "", options.data(), NULL)) != -1; )
  {
    switch (o)
    {
    case O_FIXED: load.adaptive= false; break;
    case O_CSV: csv= true; break;
    case O_CURVE: curve= parse_curve(optarg, &values); break;
    case O_SEED: load.seed= (uint64_t) number("seed", optarg); break;
    case O_HELP: usage(stdout); return 0;
    default:
      if (o >= SETTINGS)
      {
        usage(stderr);
        return 2;
      }
      set(&load, &settings[o], number(settings[o].name, optarg));
      groups_given|= settings[o].whole == &Sim_load::groups;
    }
  }
  if (optind < argc)
    fail(std::string("unexpected: ") + argv[optind]);
  if (!curve)
    values.push_back(0);
  print_head(csv);
  for (double value : values)
  {
    if (curve)
      set(&load, curve, value);
    if (!groups_given && !(curve && curve->whole == &Sim_load::groups))
      load.groups= load.processors;
    check(load);
    print(load, simulate(load), csv);
  }
  return 0;
}
