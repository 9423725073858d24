#!/usr/bin/perl
# Compares doc/variables.md with the server.
#
#   check-variables.pl values|list|links PATCHED PRISTINE DOC [OTHER...]
#
#   values   defaults, ranges, scopes and whether a variable can be set at run time, in the
#            overview and in the reference
#   list     each variable, status variable, table and column is described, and none that does
#            not exist; counts ("20 variables are ours"), also in the OTHER documents
#   links    links within DOC, and those of the OTHER documents to it, lead somewhere; footnotes
#
# PATCHED and PRISTINE are trees with those files that the stack touches. What it prints is
# wrong; its status says whether anything is.
use strict;
use warnings;

my ($what, $patched, $pristine, $doc, @others) = @ARGV;
die "usage: check-variables.pl values|list|links PATCHED PRISTINE DOC [OTHER...]\n"
  unless defined $doc && $what =~ /^(values|list|links)$/;
my $wrong = 0;

sub wrong { print "$doc: $_[0]\n"; $wrong = 1 }

sub text_of
{
  my ($file) = @_;
  open my $in, '<', $file or die "$file: $!\n";
  local $/;
  return <$in>;
}

# --- the server --------------------------------------------------------------

# Of each variable of the pool and of the extra port what the server itself says, in the
# results of its tests: scope, type, min, max, step, names, dynamic, default.
sub server_variables
{
  my ($tree) = @_;
  my (%variables, $now);
  for (split /\n/, text_of("$tree/mysql-test/suite/sys_vars/r/sysvars_server_notembedded.result"))
  {
    if (/^VARIABLE_NAME\t(\w+)/)
    {
      my $name = lc $1;
      $now = $name =~ /^(thread_pool_|thread_handling$|extra_)/ ? $variables{$name} = {} : undef;
    }
    next unless $now && /^(\w+)\t(.*)$/;
    $now->{$1} = $2;
  }
  my $help = text_of("$tree/mysql-test/main/mysqld--help.result");
  for my $name (keys %variables)
  {
    my $v = $variables{$name};
    my $option = $name =~ tr/_/-/r;
    ($v->{default}) = $help =~ /^\Q$option\E (.*)$/m;
    next unless defined $v->{default};
    # mysqld--help.test writes UINT_MAX so.
    $v->{default} =~ s/^18446744073709551615$/4294967295/ if $v->{VARIABLE_TYPE} eq 'INT UNSIGNED';
    $v->{default} =~ s/^FALSE$/OFF/;
    $v->{default} =~ s/^TRUE$/ON/;
  }
  return \%variables;
}

# Those that are not in the results: by what they are declared with.
sub declared_variables
{
  my ($tree, $variables) = @_;
  my $source = text_of("$tree/sql/sys_vars.cc");
  my $first_name = sub { $source =~ /\b$_[0]\[\]=\s*\{\s*"([^"]+)"/ ? $1 : undef };
  # Their defaults are of one platform, so mysqld--help.test leaves them out.
  $variables->{thread_handling}{default} = $first_name->('thread_handling_names')
    if $source =~ /#else\s*#define DEFAULT_THREAD_HANDLING 0\s/;
  for my $name (qw(thread_pool_min_threads thread_pool_mode))
  {
    my ($text) = $source =~ /\n  "$name",(.*?)\);\n/s or die "sys_vars.cc has no $name\n";
    my $v = $variables->{$name} = { VARIABLE_SCOPE => 'GLOBAL', windows => 1,
      READ_ONLY => $text =~ /READ_ONLY/ ? 'YES' : 'NO', NUMERIC_BLOCK_SIZE => 1,
      NUMERIC_MIN_VALUE => 'NULL', ENUM_VALUE_LIST => 'NULL', VARIABLE_TYPE => 'INT UNSIGNED' };
    if ($text =~ /VALID_RANGE\((\d+), (\d+)\), DEFAULT\((\d+)\)/)
    {
      @$v{qw(NUMERIC_MIN_VALUE NUMERIC_MAX_VALUE default)} = ($1, $2, $3);
    }
    elsif ($text =~ /DEFAULT\(TP_MODE_WINDOWS\)/)
    {
      my ($names) = $source =~ /threadpool_mode_names\[\]=\s*\{(.*?), 0 \}/;
      $v->{ENUM_VALUE_LIST} = join ',', $names =~ /"([^"]+)"/g;
      $v->{VARIABLE_TYPE} = 'ENUM';
      $v->{default} = 'windows';
    }
  }
  # "SET GLOBAL thread_pool_size=DEFAULT" gives this one; the real default is the machine's.
  ($variables->{thread_pool_size}{compiled}) =
    $source =~ /"thread_pool_size".*?DEFAULT\((\d+)\)/s;
}

my $variables = server_variables($patched);
# Those that exist for option files of other products are described apart, not in the overview.
my %hidden = map { $_ => delete $variables->{$_} }
             grep { ($variables->{$_}{VARIABLE_COMMENT} // '') =~ /^For option files of / } keys %$variables;
declared_variables($patched, $variables);
my $stock = server_variables($pristine);
$_->{ours} = 1 for @$variables{grep { !$stock->{$_} && !$variables->{$_}{windows} } keys %$variables};

# Tables and their columns, and the status variables.
sub server_tables
{
  my ($tree) = @_;
  my (%columns, %tables);
  for my $file (grep { -e } map { "$tree/sql/thread_pool_$_.cc" } qw(info tables))
  {
    my $text = text_of($file);
    while ($text =~ /static ST_FIELD_INFO (\w+)\[\]\s*=(.*?)CEnd\(\)/gs)
    {
      my ($fields, $list) = ($1, $2);
      $columns{$fields} = [$list =~ /Column\("(\w+)"/g];
    }
    $tables{$1} = 1 while $text =~ /^  "((?:THREAD_POOL|TP)_\w+)",$/mg;
  }
  return \%tables, \%columns;
}

# The table of a list of columns, by its name in the source; MySQL's tables are described
# only where the name of a column doesn't say it.
my %fields_of = (
  THREAD_POOL_GROUPS => 'groups_fields_info', THREAD_POOL_GATE => 'gate_fields_info',
  THREAD_POOL_QUEUES => 'queues_field_info', THREAD_POOL_STATS => 'stats_fields_info',
  THREAD_POOL_WAITS => 'waits_fields_info', THREAD_POOL_HISTOGRAM => 'histogram_fields_info',
  THREAD_POOL_WORKERS => 'workers_fields_info', THREAD_POOL_CONNECTIONS => 'connections_fields_info',
  THREAD_POOL_DIGESTS => 'digests_fields_info');

sub server_status
{
  my ($tree) = @_;
  my @names = text_of("$tree/sql/mysqld.cc") =~ /\{"(Threadpool_\w+)",/g;
  my $common = "$tree/sql/threadpool_common.cc";
  if (-e $common && text_of($common) =~ /struct \{ const char \*name; uint64_t value; \} all\[\]=(.*?)\};/s)
  {
    my $list = $1;
    push @names, map { "Threadpool_$_" } $list =~ /^\s*\{"(\w+)",/mg;
  }
  return @names;
}

# --- the document ------------------------------------------------------------

my @lines = split /\n/, text_of($doc);

sub section
{
  my ($heading) = @_;
  my ($level, $on, @text);
  for (@lines)
  {
    if (/^(#+) (.*)$/)
    {
      last if $on && length $1 <= $level;
      if (!$on && $2 eq $heading) { ($on, $level) = (1, length $1); next }
    }
    push @text, $_ if $on;
  }
  wrong("there is no section '$heading'") unless $on;
  return @text;
}

my (%overview, @order);
for (section('Overview'))
{
  next unless /^\| `(\w+)`(?: \((.+?)\))? \|/;
  my $name = $1;
  my $mark = $2 // '';
  my (undef, undef, $scope, $dynamic, $default, $range, $unit) = split /\s*\|\s*/;
  wrong("$name is in the overview twice") if $overview{$name};
  $overview{$name} = { mark => $mark, scope => $scope, dynamic => $dynamic, default => $default,
                       range => $range, unit => $unit // '' };
  push @order, $name;
}

sub plain
{
  my ($text) = @_;
  $text =~ s/ \(\d+\)$//;         # a footnote
  $text =~ s/ \(.*\)$//;          # 0 (off)
  $text =~ s/`//g;
  $text =~ s/\[([^]]*)\]\([^)]*\)/$1/g;
  return $text eq 'empty' ? '' : $text;
}

sub same
{
  my ($where, $name, $said, $is) = @_;
  wrong("$where of $name: '$said', but the server says '$is'") if $said ne $is;
}

sub check_default
{
  my ($where, $name, $said) = @_;
  my $v = $variables->{$name};
  if ($v->{compiled})
  {
    same("$where, default", $name, plain($said), 'number of processors that the server may use');
    return;
  }
  if (!defined $v->{default}) { wrong("the server's default of $name was not found"); return }
  same("$where, default", $name, plain($said), $v->{default});
}

# In the overview "1 - 100", or names; in the reference "1 to 100 threads", "`a` or `b`".
sub check_range
{
  my ($where, $name, $said, $to) = @_;
  my $v = $variables->{$name};
  my $is;
  if ($v->{NUMERIC_MIN_VALUE} ne 'NULL')
  {
    $is = "$v->{NUMERIC_MIN_VALUE}$to$v->{NUMERIC_MAX_VALUE}";
    wrong("$where, range of $name: '$said', but the server says '$is'")
      unless $said =~ /^\Q$is\E(?!\d)/;
    my ($step) = $said =~ /\bin steps of (\d+)/;
    same("$where, steps", $name, $step // 1, $v->{NUMERIC_BLOCK_SIZE});
  }
  elsif ($v->{ENUM_VALUE_LIST} ne 'NULL')
  {
    my @names = split /,/, $v->{ENUM_VALUE_LIST};
    return same("$where, values", $name, $said, @names . ' names') if $said =~ /^\d+ names$/;
    $said =~ s/`//g;
    same("$where, values", $name, join(',', sort split /, | or /, $said), join(',', sort @names));
  }
}

sub check_values
{
  for my $name (@order)
  {
    my ($o, $v) = ($overview{$name}, $variables->{$name});
    next unless $v;
    my $both = $v->{VARIABLE_SCOPE} eq 'SESSION';
    my $static = $v->{READ_ONLY} eq 'YES';
    same('overview, scope', $name, $o->{scope}, $both ? 'global, session' : 'global');
    same('overview, dynamic', $name, $o->{dynamic}, $static ? 'no' : 'yes');
    check_default('overview', $name, $o->{default});
    check_range('overview', $name, $o->{range}, ' - ');
    my ($values) = grep { /^- \*\*Values:\*\* / } section($name);
    if (!defined $values || $values !~ /^- \*\*Values:\*\* default (.*?); (.*?); (dynamic|only at startup); (global|global and session)\./)
    {
      wrong("reference of $name: no line of the form '- **Values:** default D; RANGE; dynamic; global.'");
      next;
    }
    my ($default, $range, $dynamic, $scope) = ($1, $2, $3, $4);
    same('reference, scope', $name, $scope, $both ? 'global and session' : 'global');
    same('reference, dynamic', $name, $dynamic, $static ? 'only at startup' : 'dynamic');
    check_default('reference', $name, $default);
    check_range('reference', $name, $range, ' to ');
  }
  my $compiled = $variables->{thread_pool_size}{compiled};
  wrong("the overview does not say that thread_pool_size=DEFAULT gives $compiled")
    unless join(' ', section('Overview')) =~ /`SET GLOBAL thread_pool_size=DEFAULT`\s+gives $compiled,/;
}

# "twelve variables are ours" is a count as well, "these variables are ours" is none.
my @words = qw(zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
  fifteen sixteen seventeen eighteen nineteen twenty);
my %number = map { $words[$_] => $_ } 0 .. $#words;

sub count_is
{
  my ($pattern, $is, $text, $where) = @_;
  while ($text =~ /$pattern/g)
  {
    my $said = $1;
    (my $seen = $&) =~ s/\s+/ /g;
    $said = $number{lc $said} // next if $said !~ /^\d+$/;
    next if $said == $is;
    print "$where: '$seen', but there are $is\n";
    $wrong = 1;
  }
}

sub check_list
{
  # Variables
  for my $name (sort keys %$variables)
  {
    my $v = $variables->{$name};
    my $o = $overview{$name};
    if (!$o) { wrong("the overview does not have $name"); next }
    my $mark = $v->{ours} ? 'ours' : $v->{windows} ? 'Windows' : '';
    $mark = 'no effect' if $name eq 'thread_pool_exact_stats';
    same('overview, mark', $name, $o->{mark}, $mark);
  }
  wrong("$_ is in the overview, but the server has no such variable")
    for grep { !$variables->{$_} } @order;
  my @reference = map { /^### (.*)$/ ? $1 : () } section('Reference');
  for my $i (0 .. ($#reference > $#order ? $#reference : $#order))
  {
    my ($is, $should) = ($reference[$i] // 'nothing', $order[$i] // 'nothing');
    next if $is eq $should;
    wrong("the reference has $is where the overview has $should");
    last;
  }
  for my $name (@reference)
  {
    my @labels = map { /^- \*\*(.*?):\*\*/ ? $1 : () } section($name);
    same('reference, lines', $name, join(', ', @labels), 'Values, Change it, Watch, See also');
  }
  my $chosen = join "\n", section('Which ones to set');
  for my $name (@order)
  {
    my $count = () = $chosen =~ /\[`\Q$name\E`\]/g;
    wrong("'which ones to set' has $name $count times") if $count != 1;
  }
  my ($list) = text_of($doc) =~ /^(\d+ variables are ours: .*?)\. /ms;
  wrong("no list of our variables") unless defined $list;
  my %listed = map { $_ => 1 } ($list // '') =~ /`(\w+)`/g;
  my %ours = map { $_ => 1 } grep { $variables->{$_}{ours} } keys %$variables;
  wrong("the list of our variables does not have $_") for grep { !$listed{$_} } sort keys %ours;
  wrong("the list of our variables has $_") for grep { !$ours{$_} } sort keys %listed;

  # Those for other products' option files
  my $names = join "\n", section('Names in other products');
  for my $name (sort keys %hidden)
  {
    wrong("the overview has $name, which is for other products' option files") if $overview{$name};
    my $h = $hidden{$name};
    my $range = $h->{NUMERIC_MIN_VALUE} eq 'NULL' ? 'OFF, ON' : "$h->{NUMERIC_MIN_VALUE} - $h->{NUMERIC_MAX_VALUE}";
    my $scope = $h->{VARIABLE_SCOPE} eq 'SESSION' ? 'global, session' : 'global';
    wrong("'names in other products' has no line '| `$name` | $h->{default} ... | $range ... | $scope |'")
      unless $names =~ /^\| `$name` \| \Q$h->{default}\E[^|]* \| \Q$range\E[^|]* \| $scope \|/m;
  }

  # Tables and columns
  my ($tables, $columns) = server_tables($patched);
  my ($stock_tables, $stock_columns) = server_tables($pristine);
  my $described = join "\n", section('Tables in information_schema');
  wrong("the table $_ is not described") for grep { $described !~ /\b$_\b/ } sort keys %$tables;
  for my $table (sort keys %fields_of)
  {
    my @names = @{$columns->{$fields_of{$table}} || []};
    my %in = map { $_ => 1 } @names;
    if (!@names) { wrong("no columns of $table in the source"); next }
    my $own = join "\n", section($table);
    my %said;
    for (map { /^\| ([A-Z_]+(?:, [A-Z_]+)*) \|/ ? split(/, /, $1) : () } split /\n/, $own) { $said{$_} = 1 }
    delete $said{$_} for grep { $table eq 'THREAD_POOL_GATE' && /^(FIXED|STAYS)$/ } keys %said;
    delete @said{'REASON', reasons()} if $table eq 'THREAD_POOL_WAITS';
    $said{REASON} = 1 if $table eq 'THREAD_POOL_WAITS';
    wrong("the column $_ of $table is not described") for grep { !$said{$_} } @names;
    wrong("$table has no column $_") for grep { !$in{$_} } sort keys %said;
    my %stock = map { $_ => 1 } @{$stock_columns->{$fields_of{$table}} || []};
    count_is(qr/The last (\w+) columns are ours/, scalar(grep { !$stock{$_} } @names), $own, $doc);
  }

  # Status variables
  my %status = map { $_ => 1 } server_status($patched);
  my %stock_status = map { $_ => 1 } server_status($pristine);
  my %said = map { $_ => 1 } map { /^\| (.*?) \|/ ? $1 =~ /`(Threadpool_\w+)`/g : () } section('Status variables');
  wrong("the status variable $_ is not described") for grep { !$said{$_} } sort keys %status;
  wrong("the server has no status variable $_") for grep { !$status{$_} } sort keys %said;

  # Counts
  for my $file ($doc, @others)
  {
    my $text = text_of($file);
    count_is(qr/\b(\w+)\s+variables\s+are\s+ours\b/, scalar keys %ours, $text, $file);
    count_is(qr/\b(\w+)\s+variables\s+are\s+stock's\b/, keys(%$variables) - keys(%ours), $text, $file);
    count_is(qr/\b(\w+)\s+tables\s+are\s+ours\b/, keys(%$tables) - keys(%$stock_tables), $text, $file);
    count_is(qr/\b(\w+)\s+status\s+variables\s+are\s+ours\b/,
             scalar(grep { !$stock_status{$_} } keys %status), $text, $file);
  }
}

# The reasons of waits are in a second table of the same section.
sub reasons
{
  my $text = text_of("$patched/sql/thread_pool_info.cc");
  return $text =~ /\{STRING_WITH_LEN\("(\w+)"\)\}/g;
}

# --- links -------------------------------------------------------------------

sub check_links
{
  my (%anchors, %all);
  for (@lines)
  {
    next unless /^#+ (.*)$/;
    (my $anchor = lc $1) =~ s/[^a-z0-9 _-]//g;
    $anchor =~ tr/ /-/;
    wrong("two headings make the anchor #$anchor") if $anchors{$anchor}++;
  }
  my $text = text_of($doc);
  while ($text =~ /\]\(#([^)]+)\)/g) { wrong("no heading for the link #$1") unless $anchors{$1} || $all{$1}++ }
  my ($base) = $doc =~ m|([^/]+)$|;
  for my $file (@others)
  {
    my $other = text_of($file);
    while ($other =~ /\Q$base\E#([a-z0-9_-]+)/g)
    {
      next if $anchors{$1};
      print "$file: no heading for the link $base#$1\n";
      $wrong = 1;
    }
  }
  # Footnotes of the overview: 1, 2, 3 ... in the order of the table, and a line for each
  my @overview = section('Overview');
  my @marks = map { /^\| `/ ? /(?<=\S) \((\d+)\)/g : () } @overview;
  my @notes = map { /^(\d+)\. / ? $1 : () } @overview;
  my @expected = 1 .. @notes;
  wrong("footnotes in the table: @marks; below it: @notes; they should be @expected in both")
    if "@marks" ne "@expected" || "@notes" ne "@expected";
}

if ($what eq 'values') { check_values() }
elsif ($what eq 'list') { check_list() }
else { check_links() }
exit $wrong;
