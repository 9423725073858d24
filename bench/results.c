#include "results.h"

#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const double percents[]= {50, 90, 99, 99.9, 99.99};
#define PERCENTS (sizeof(percents) / sizeof(*percents))

static double per_second(const struct measured *m, uint64_t count)
{
  return m->seconds > 0 ? (double) count / m->seconds : 0;
}

/* CPU time for each of `count` things, if any were done. */
static double each(const struct measured *m, double cpu, uint64_t count)
{
  /* The CPU times were taken over a window that differs by a little. */
  double scale= m->cpu_seconds > 0 ? m->seconds / m->cpu_seconds : 0;
  return count ? cpu * scale / (double) count : 0;
}

static void totals(const struct measured *m, uint64_t *passes,
                   uint64_t *statements)
{
  *passes= *statements= 0;
  for (unsigned i= 0; i < m->workload->class_count; i++)
  {
    /* A binlog dump's events are no passes. */
    if (!m->workload->classes[i].statement_count || m->workload->classes[i].aside)
      continue;
    *passes+= m->stats[i].passes;
    *statements+= m->stats[i].statements;
  }
}

static uint64_t error_total(const struct class_stats *s)
{
  uint64_t total= 0;
  for (unsigned i= 0; i < MAX_ERROR_CODES; i++)
    total+= s->errors[i].count;
  return total;
}

/* "1213:4 1205:1", codes without a slot of their own as "other:2". */
static void error_list(const struct class_stats *s, char *to, size_t size)
{
  size_t used= 0;
  *to= 0;
  for (unsigned i= 0; i < MAX_ERROR_CODES && used < size; i++)
  {
    const struct error_count *e= &s->errors[i];
    char code[16];
    if (!e->count)
      continue;
    if (e->code)
      snprintf(code, sizeof(code), "%u", e->code);
    else
      strcpy(code, "other");
    int wrote= snprintf(to + used, size - used, "%s%s:%" PRIu64,
                        used ? " " : "", code, e->count);
    used+= wrote > 0 ? (size_t) wrote : 0;
  }
}

/* --- text ------------------------------------------------------------------ */

/* The longest that was seen, ended or not. */
static uint64_t longest(const struct histogram *h, const struct histogram *open)
{
  uint64_t max= h->count ? h->max : 0;
  return open->count && open->max > max ? open->max : max;
}

static void latency_line(FILE *to, const char *name, double rate,
                         const struct histogram *h, const struct histogram *open)
{
  char text[32];
  double known;
  fprintf(to, "%-22s %10s", name, format_amount(rate, text, sizeof(text)));
  for (unsigned i= 0; i < PERCENTS; i++)
  {
    uint64_t value= histogram_percentile_open(h, open, percents[i], &known);
    const char *shown= h->count + open->count
      ? format_duration((double) value, text, sizeof(text)) : "-";
    /* Beyond what is known the real value is larger. */
    fprintf(to, " %s%*s", known < percents[i] ? ">" : "",
            known < percents[i] ? 7 : 8, shown);
  }
  fprintf(to, " %8s\n", h->count + open->count ?
          format_duration((double) longest(h, open), text, sizeof(text)) : "-");
}

static void class_lines(FILE *to, const struct measured *m, unsigned i)
{
  const struct class *c= &m->workload->classes[i];
  const struct class_stats *s= &m->stats[i];
  char name[64], text[32], list[300];
  snprintf(name, sizeof(name), "%s (%" PRIu64 ")", c->name, c->connections);
  if (c->silent || c->idle)
    fprintf(to, "%-22s %10s\n", name, c->silent ? "silent" : "idle");
  else
    latency_line(to, name, per_second(m, s->passes), &s->pass, &s->open_pass);
  if (c->statement_count > 1)
    latency_line(to, "  its statements", per_second(m, s->statements),
                 &s->statement, &s->open_statement);
  if (s->unfinished)
    fprintf(to, "  %" PRIu64 " unfinished, the oldest after %s\n",
            s->unfinished, format_duration((double) s->oldest_unfinished, text,
                                           sizeof(text)));
  if (s->bytes)
    fprintf(to, "  read %s bytes/s\n",
            format_amount(per_second(m, s->bytes), text, sizeof(text)));
  if (s->closed_by_server)
    fprintf(to, "  %" PRIu64 " connections closed by the server\n",
            s->closed_by_server);
  error_list(s, list, sizeof(list));
  if (*list)
    fprintf(to, "  errors (code:count): %s; passes that failed: %" PRIu64 "\n",
            list, s->failed_passes);
}

void results_text(FILE *to, const struct measured *m)
{
  uint64_t passes, statements;
  totals(m, &passes, &statements);
  fprintf(to, "measured for %.1f s\n", m->seconds);
  fprintf(to, "%-22s %10s %8s %8s %8s %8s %8s %8s\n", "class (connections)",
          "per second", "p50", "p90", "p99", "p99.9", "p99.99", "max");
  for (unsigned i= 0; i < m->workload->class_count; i++)
    class_lines(to, m, i);
  if (m->server_known)
  {
    fprintf(to, "server: ");
    if (statements)
      fprintf(to, "%.1f us of CPU per statement, ",
              each(m, m->server_cpu, statements) / 1e3);
    fprintf(to, "%.0f %% of one core, up to %u threads, %.0f MB resident\n",
            m->cpu_seconds > 0 ? m->server_cpu / m->cpu_seconds / 1e7 : 0,
            m->server_threads, (double) m->server_resident / 1e6);
  }
  fprintf(to, "client: ");
  if (statements)
    fprintf(to, "%.1f us of CPU per statement, ",
            each(m, m->client_cpu, statements) / 1e3);
  double busy= m->cpu_seconds > 0
    ? m->busiest_thread_cpu / m->cpu_seconds / 1e7 : 0;
  fprintf(to, "its busiest thread used %.0f %% of one core%s\n", busy,
          busy > 90 ? ": this generator may be the limit, try --threads" : "");
  if (m->machine_known && m->stolen_percent >= 1)
    fprintf(to, "machine: other guests of its host took %.0f %% of its CPU time\n",
            m->stolen_percent);
}

/* --- CSV ------------------------------------------------------------------- */

static FILE *open_csv(const char *path, bool *empty)
{
  FILE *file= fopen(path, "a");
  if (!file)
    return NULL;
  fseek(file, 0, SEEK_END);
  *empty= ftell(file) == 0;
  return file;
}

static bool close_csv(FILE *file)
{
  bool ok= !ferror(file);
  int error= errno;
  if (fclose(file))
    return false;
  errno= error;
  return ok;
}

/* Quoted where it has to be. */
static void write_field(FILE *to, const char *text)
{
  if (!strpbrk(text, ",\"\n"))
  {
    fputs(text, to);
    return;
  }
  fputc('"', to);
  for (; *text; text++)
  {
    if (*text == '"')
      fputc('"', to);
    fputc(*text, to);
  }
  fputc('"', to);
}

static void histogram_fields(FILE *to, const struct histogram *h,
                             const struct histogram *open)
{
  double known;
  if (!h->count && !open->count)
  {
    fputs(",,,,,,,,", to);
    return;
  }
  /* The mean of those that ended: of the others there is none. */
  if (h->count)
    fprintf(to, ",%.1f", histogram_mean(h) / 1e3);
  else
    fputc(',', to);
  for (unsigned i= 0; i < PERCENTS; i++)
    fprintf(to, ",%.1f", (double) histogram_percentile_open(h, open, percents[i],
                                                            &known) / 1e3);
  fprintf(to, ",%.1f,%.4f", (double) longest(h, open) / 1e3, known);
}

static void write_if(FILE *to, bool known, double value)
{
  if (known)
    fprintf(to, ",%.2f", value);
  else
    fputc(',', to);
}

static void histogram_names(FILE *to, const char *what)
{
  static const char *const names[]=
  {"mean", "p50", "p90", "p99", "p999", "p9999", "max"};
  for (unsigned i= 0; i < sizeof(names) / sizeof(*names); i++)
    fprintf(to, ",%s_%s_us", what, names[i]);
  fprintf(to, ",%s_known_percent", what);
}

static void csv_names(FILE *to, char **labels, unsigned label_count)
{
  for (unsigned i= 0; i < label_count; i++)
    fprintf(to, "%.*s,", (int) strcspn(labels[i], "="), labels[i]);
  fputs("class,connections,seconds,passes,statements,passes_per_s,"
        "statements_per_s", to);
  histogram_names(to, "pass");
  histogram_names(to, "statement");
  fputs(",unfinished,oldest_unfinished_us,failed_passes,errors,bytes_per_s,closed_by_server,"
        "client_cpu_us_per_statement,server_cpu_us_per_statement,"
        "server_cpu_us_per_pass,server_cpu_percent,server_threads,"
        "server_rss_kb,server_rss_kb_per_connection,loop_busy_percent,"
        "machine_idle_percent,stolen_percent,errors_by_code\n", to);
}

static void csv_row(FILE *to, char **labels, unsigned label_count,
                    const struct measured *m, unsigned i)
{
  const struct class *c= &m->workload->classes[i];
  const struct class_stats *s= &m->stats[i];
  uint64_t passes, statements;
  char list[300];
  bool known= m->server_known;
  totals(m, &passes, &statements);
  for (unsigned k= 0; k < label_count; k++)
  {
    write_field(to, labels[k] + strcspn(labels[k], "=") + 1);
    fputc(',', to);
  }
  fprintf(to, "%s,%" PRIu64 ",%.3f,%" PRIu64 ",%" PRIu64 ",%.2f,%.2f", c->name,
          c->connections, m->seconds, s->passes, s->statements,
          per_second(m, s->passes), per_second(m, s->statements));
  histogram_fields(to, &s->pass, &s->open_pass);
  histogram_fields(to, &s->statement, &s->open_statement);
  fprintf(to, ",%" PRIu64 ",%.1f,%" PRIu64 ",%" PRIu64 ",%.0f,%" PRIu64,
          s->unfinished, (double) s->oldest_unfinished / 1e3, s->failed_passes,
          error_total(s),
          per_second(m, s->bytes), s->closed_by_server);
  write_if(to, statements, each(m, m->client_cpu, statements) / 1e3);
  write_if(to, known && statements, each(m, m->server_cpu, statements) / 1e3);
  write_if(to, known && passes, each(m, m->server_cpu, passes) / 1e3);
  write_if(to, known && m->cpu_seconds > 0,
           m->server_cpu / m->cpu_seconds / 1e7);
  write_if(to, known, m->server_threads);
  write_if(to, known, (double) m->server_resident / 1024);
  write_if(to, known && m->connections,
           ((double) m->server_resident_connected -
            (double) m->server_resident_before) /
           1024 / (double) m->connections);
  write_if(to, m->cpu_seconds > 0, m->busiest_thread_cpu / m->cpu_seconds / 1e7);
  write_if(to, m->machine_known, m->idle_percent);
  write_if(to, m->machine_known, m->stolen_percent);
  error_list(s, list, sizeof(list));
  fprintf(to, ",%s\n", list);
}

bool results_csv(const char *path, char **labels, unsigned label_count,
                const struct measured *m)
{
  bool empty;
  FILE *file= open_csv(path, &empty);
  if (!file)
    return false;
  if (empty)
    csv_names(file, labels, label_count);
  for (unsigned i= 0; i < m->workload->class_count; i++)
    csv_row(file, labels, label_count, m, i);
  return close_csv(file);
}

static void histogram_rows(FILE *to, const char *class, const char *kind,
                           const struct histogram *h)
{
  for (unsigned i= 0; i < HISTOGRAM_BUCKETS; i++)
    if (h->buckets[i])
    {
      uint64_t upper= histogram_highest(i);
      fprintf(to, "%s,%s,%.3f,%" PRIu64 "\n", class, kind,
              (double) (upper > h->max ? h->max : upper) / 1e3, h->buckets[i]);
    }
}

bool results_histograms(const char *path, const struct measured *m)
{
  bool empty;
  FILE *file= open_csv(path, &empty);
  if (!file)
    return false;
  if (empty)
    fputs("class,kind,upper_us,count\n", file);
  for (unsigned i= 0; i < m->workload->class_count; i++)
  {
    const char *name= m->workload->classes[i].name;
    histogram_rows(file, name, "pass", &m->stats[i].pass);
    histogram_rows(file, name, "statement", &m->stats[i].statement);
    histogram_rows(file, name, "open_pass", &m->stats[i].open_pass);
    histogram_rows(file, name, "open_statement", &m->stats[i].open_statement);
  }
  return close_csv(file);
}

bool results_series(const char *path, const struct measured *m)
{
  bool empty;
  FILE *file= open_csv(path, &empty);
  if (!file)
    return false;
  if (empty)
    fputs("class,second,passes,statements\n", file);
  for (unsigned i= 0; i < m->workload->class_count; i++)
    for (unsigned second= 0; second < m->series_length; second++)
      fprintf(file, "%s,%u,%" PRIu64 ",%" PRIu64 "\n",
              m->workload->classes[i].name, second,
              m->stats[i].series_passes[second],
              m->stats[i].series_statements[second]);
  return close_csv(file);
}
