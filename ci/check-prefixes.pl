#!/usr/bin/perl
# Can the tests that a patch names pass when that patch is the last one? As far as it can be seen without running them:
# a test may not use a name that only a later patch adds.
#
#   check-prefixes.pl [--needs] PRISTINE STACK PATCH...
#
# PRISTINE is upstream's tree, STACK the project, PATCHes its patches in their order, relative to STACK/patches.
# With --needs, it prints for each test the last patch that it needs, and which name needs it.
#
# Names are variables, status variables, tables and their columns, reasons of waits, keywords of debug_dbug, points of
# debug_sync, instruments, texts (states, messages), errors, and files that a patch adds. They are looked up in the
# files as they are after each patch, so what a later patch only moves counts for the patch that has it first. What a
# test prints only if it fails does not count. Nor does what switches something off, or postpones it by an hour, a --loose
# option or a keyword tp_no_...: where it is missing, so is what would disturb the test. Of a result, texts and reasons count.
use strict;
use warnings;

my $print_needs= @ARGV && $ARGV[0] eq '--needs' ? shift : 0;
my ($pristine, $stack, @patches)= @ARGV;
die "usage: check-prefixes.pl [--needs] PRISTINE STACK PATCH...\n" unless @patches;
my $suite= "$stack/mysql-test/suite/thread_pool";

my %first;      # kind => name => number of the patch that has it first, 0: upstream
my %columns;    # table => column => number
my %file_added; # file => number
my %our_instrument; # those of the pool
my %tests_of;   # number => names in Tests:

collect_names();
my %need= map { $_ => need_of($_) } suite_tests();
exit(print_needs()) if $print_needs;
exit(compare() ? 1 : 0);

# --- what the patches add ----------------------------------------------------

sub collect_names
{
  my (%text, @steps);
  for my $n (1 .. @patches)
  {
    my ($header, $hunks)= parse("$stack/patches/$patches[$n - 1]");
    $tests_of{$n}= tests_in($header);
    push @steps, $hunks;
    for my $file (keys %$hunks)
    {
      next if exists $text{$file};
      $text{$file}= -e "$pristine/$file" ? [lines_of("$pristine/$file")] : undef;
      note_names($file, join('', @{$text{$file} || []}), 0);
    }
  }
  for my $n (1 .. @patches)
  {
    for my $file (sort keys %{$steps[$n - 1]})
    {
      $file_added{$file} //= $n if !defined $text{$file};
      apply($text{$file} //= [], $steps[$n - 1]{$file});
      note_names($file, join('', @{$text{$file}}), $n);
    }
  }
}

sub lines_of
{
  my ($file)= @_;
  open(my $in, '<', $file) or die "$file: $!\n";
  return <$in>;
}

# The header of a patch, and for each file its hunks: the line, how many it replaces, and by what.
sub parse
{
  my ($patch)= @_;
  my (%hunks, $file, $hunk, $old_name);
  my ($header, $old_left, $new_left)= ('', 0, 0);
  for my $line (lines_of($patch))
  {
    if ($hunk && ($old_left > 0 || $new_left > 0))
    {
      my ($op, $rest)= (substr($line, 0, 1), substr($line, 1));
      next if $op eq '\\';
      $old_left-- if $op ne '+';
      $new_left-- if $op ne '-';
      push @{$hunk->{new}}, $op eq "\n" ? "\n" : $rest if $op ne '-';
    }
    elsif ($line =~ /^--- (\S+)/)
    {
      $old_name= $1;
    }
    elsif ($line =~ /^\+\+\+ (\S+)/)
    {
      ($file= $1 eq '/dev/null' ? $old_name : $1) =~ s{^[^/]*/}{};
      $hunks{$file} //= [];
    }
    elsif ($line =~ /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/)
    {
      ($old_left, $new_left)= ($2 // 1, $4 // 1);
      $hunk= { at => $old_left ? $1 - 1 : $1, old => $old_left, new => [] };
      push @{$hunks{$file}}, $hunk;
    }
    elsif (!defined $file)
    {
      $header.= $line;
    }
  }
  return ($header, \%hunks);
}

sub apply
{
  my ($lines, $hunks)= @_;
  splice(@$lines, $_->{at}, $_->{old}, @{$_->{new}}) for reverse @$hunks;
}

sub tests_in
{
  my ($header)= @_;
  my ($value)= $header =~ /^Tests:(.*(?:\n[ \t]+\S.*)*)/m or return [];
  return [] if $value =~ /^\s*none/;
  return [grep { length } split /[\s,]+/, $value];
}

sub note
{
  my ($kind, $name, $n)= @_;
  $first{$kind}{lc $name} //= $n;
}

# The names that a file has after patch n.
sub note_names
{
  my ($file, $text, $n)= @_;
  if ($file =~ m{/errmsg-utf8.txt$})
  {
    note('error', $1, $n) while $text =~ /^(ER_\w+)/mg;
  }
  return unless $file =~ /\.(cc|c|h|ic|inl)$/ && $file !~ m{^unittest/};
  $text =~ s{^#include.*}{}mg;
  note('keyword', $1, $n) while $text =~ /\bDBUG_(?:EXECUTE_IF|EVALUATE_IF|IF)\s*\(\s*"(\w+)"/g;
  note('sync point', $1, $n) while $text =~ /\bDEBUG_SYNC(?:_C|_C_IF_THD)?\s*\((?:[^",]+,)?\s*"(\w+)"/g;
  while ($text =~ /\{\s*&key_\w+,\s*"([^"]+)"/g)
  {
    my $name= $1;
    note('instrument', $name, $n);
    $our_instrument{lc $name}= 1 if $file =~ m{/thread_?pool};
  }
  note('variable', "thread_pool_$1", $n)
    while $file eq 'sql/thread_pool_plugin.cc' && $text =~ /\bMYSQL_(?:SYSVAR|THDVAR)_\w+\(\s*(\w+),/g;
  note('variable', $1, $n)
    while $file eq 'sql/sys_vars.cc' && $text =~ /\bSys_\w+\s*\(\s*"(\w+)"/g;
  note('status', $1, $n) while $text =~ /\{\s*"(Threadpool_\w+)"/g;
  # Those that follow "Threadpool": a table of names and values
  while ($text =~ /\{\s*const char \*name;[^{}]*\}\s*\w+\[\]\s*=\s*\{(.*?)\};/sg)
  {
    my $all= $1;
    note('status', "threadpool_$1", $n) while $all =~ /\{\s*"(\w+)",/g;
  }
  if ($text =~ /\bwait_reasons\[\w*\]\s*=\s*\{(.*?)\n\};/s)
  {
    my $reasons= $1;
    note('reason', $1, $n) while $reasons =~ /"([A-Z_]+)"/g;
  }
  note_tables($text, $n);
  $text =~ s/"\s*\n\s*"//g;
  while ($text =~ /"((?:[^"\\\n]|\\.)*)"/g)
  {
    my $literal= $1;
    note('text', $literal, $n) if $literal =~ / / && length $literal >= 8;
  }
}

# Tables of information_schema: a plugin names its init function, which names the columns.
my (%init_of, %fields_of, %of_array);
sub note_tables
{
  my ($text, $n)= @_;
  while ($text =~ /\bST_FIELD_INFO\s+(\w+)\[\]\s*=\s*\{(.*?)\n\};/sg)
  {
    my ($array, $body)= ($1, $2);
    while ($body =~ /\bColumn\(\s*"(\w+)"/g) { $of_array{$array}{uc $1} //= $n; }
  }
  while ($text =~ /\b(\w+_init)\s*\(\s*void\s*\*\s*\w*\s*\)\s*\{(.*?)\n\}/sg)
  {
    my ($init, $body)= ($1, $2);
    $fields_of{$init}= $1 if $body =~ /\bShow::(\w+)/;
  }
  while ($text =~ /&plugin_descriptor,\s*"(\w+)",(?:[^{}]*?)\b(\w+_init),/g)
  {
    note('table', $1, $n);
    $init_of{uc $1}= $2;
  }
  for my $table (keys %init_of)
  {
    my $array= $fields_of{$init_of{$table}} or next;
    $columns{$table}= $of_array{$array} if $of_array{$array};
  }
}

# --- what a test needs ---------------------------------------------------------

sub suite_tests { return map { s{.*/(.*)\.test$}{thread_pool.$1}r } sort glob("$suite/t/*.test"); }

# The files of a test: its own, those that it includes, and their includes.
sub files_of_test
{
  my ($name)= @_;
  my @todo= grep { -e } map { "$suite/t/$name.$_" } qw(test opt cnf);
  my %seen;
  while (defined(my $file= shift @todo))
  {
    next if $seen{$file}++;
    my $text= join('', lines_of($file));
    $text =~ s/^\s*#.*//mg;
    push @todo, grep { -e } "$suite/include/$1" while $text =~ m{\binclude/([\w.-]+)}g;
    push @todo, grep { -e } "$stack/packaging/sql/$1" while $text =~ m{\b([\w.-]+\.sql)\b}g;
  }
  return sort keys %seen;
}

# need_of(TEST): [number of the patch, name, file], of the last patch that it needs.
sub need_of
{
  my ($test)= @_;
  my $need= [0, '', ''];
  my @files= files_of_test($test =~ s/.*\.//r);
  my $calls= join('', grep { !/^\s*-- / } map { lines_of($_) } @files);
  for my $file (@files)
  {
    my $found= sub {
      my ($n, $name)= @_;
      $need= [$n, $name, $file =~ s{.*/}{}r] if defined $n && $n > $need->[0];
    };
    my $text= join('', lines_of($file));
    # Of the procedures, those that it calls.
    $text= join('', grep { /^(\w+)\s*\(/ && $calls =~ /\bCALL\s+millrace\.$1\b/ }
                    split /\bPROCEDURE\s+millrace\./, $text) if $file =~ /\.sql$/;
    if ($file =~ /\.(opt|cnf)$/) { names_in_options($text, $found); }
    else                         { names_in_test($text, $found); }
  }
  my $result= "$suite/r/" . $test =~ s/.*\.//r . '.result';
  for my $field (-e $result ? map { split /[\t\n]/ } lines_of($result) : ())
  {
    my ($n)= grep { defined } map { $first{$_}{lc $field} } qw(text reason);
    $need= [$n, $field, $result =~ s{.*/}{}r] if defined $n && $n > $need->[0];
  }
  return $need;
}

sub names_in_options
{
  my ($text, $found)= @_;
  $text =~ s/^#.*//mg;
  keywords_in($text, $found);
  while ($text =~ /(?:^|\s)(?:--)?(loose-)?((?:thread[-_]pool|extra)[-_][\w-]+)(?:\s*=\s*(\S+))?/mg)
  {
    my ($loose, $name, $value)= ($1, $2 =~ tr/-/_/r, $3 // '');
    next if $loose && $value =~ /^(0|OFF|3600000)$/;
    $found->($first{variable}{lc $name}, $name);
  }
}

sub keywords_in
{
  my ($text, $found)= @_;
  while ($text =~ /[+-]?\bd,(\w+(?:,\w+)*)/g)
  {
    # tp_no_something switches it off.
    $found->($first{keyword}{lc $_}, $_) for grep { !/^tp_no_/ } split /,/, $1;
  }
}

# LIKE's pattern, or just its beginning
sub like
{
  my ($pattern)= @_;
  my $re= join('', map { $_ eq '%' ? '.*' : $_ eq '_' ? '.' : quotemeta } $pattern =~ /\\?(.)/sg);
  return qr/^$re$/i;
}

sub names_in_test
{
  my ($text, $found)= @_;
  $text =~ s/^\s*#.*//mg;
  $text =~ s/^\s*(--\s*)?(echo|die|skip)\b.*//mg;
  # What is printed if it fails
  $text =~ s/\bif\s*\(\s*!\s*\$success\s*\)\s*\{[^{}]*\}//g;
  # Harmless if there is none of the kind
  $text =~ s/\bNOT\s+LIKE\s+'[^']*'//gi;
  keywords_in($text, $found);
  $found->($first{'sync point'}{lc $1}, $1)
    while $text =~ /['"]\s*(\w+)\s+(?:SIGNAL|WAIT_FOR|EXECUTE|CLEAR|HIT_LIMIT|TEST)\b/gi;
  $found->($first{error}{lc $1}, $1) while $text =~ /\b(ER_\w+)/g;
  $found->($file_added{"mysql-test/$1"}, $1) while $text =~ m{\bsource\s+(include/[\w.-]+)}g;
  for my $option ($text =~ /--(?:loose-)?((?:thread|extra)-[\w-]+)/g)
  {
    $option =~ tr/-/_/;
    $found->($first{variable}{lc $option}, $option);
  }
  for my $word ($text =~ /\b\w+\b/g)
  {
    $found->($first{$_}{lc $word}, $word) for qw(variable status table);
  }
  $found->($first{reason}{lc $1}, $1) while $text =~ /(?:'|\$\w+=\s*)([A-Z_]+)\b(?=[';])/g;
  # What seen_global.inc and seen_session.inc know, and a test looks at
  $found->($first{status}{"threadpool_" . lc $1}, $1) while $text =~ /(?<!\@)\@(\w+)/g;
  patterns_in($text, $found);
  texts_in($text, $found);
  columns_in($text, $found);
}

# A pattern prints all that match: it needs the last one that is added. An instrument's is for those that there are.
sub patterns_in
{
  my ($text, $found)= @_;
  while ($text =~ /\b(VARIABLES|STATUS)\b[^;']*'([\w\\]+%)'/gi)
  {
    my ($kind, $pattern)= (uc $1 eq 'STATUS' ? 'status' : 'variable', like($2));
    for my $name (grep { $_ =~ $pattern } keys %{$first{$kind}})
    {
      $found->($first{$kind}{$name}, $name);
    }
  }
  $found->($first{table}{$_}, $_)
    for map { my $pattern= like($_); grep { $_ =~ $pattern } keys %{$first{table}} }
      $text =~ /\bTABLE_NAME\s+LIKE\s+'([^']+)'/gi;
  if ($text =~ m{\bperformance_schema\.[^;]*\bLIKE\s+'%[^']*thread\\?_?pool/?%'}i)
  {
    $found->($first{instrument}{$_}, $_) for keys %our_instrument;
  }
  while ($text =~ m{'(?:wait|memory|stage)/[^']*?([^'/%]+)'}g)
  {
    my $pattern= like($1);
    my ($least, @more)= sort { $a <=> $b } map { $first{instrument}{$_} }
      grep { $_ =~ $pattern } keys %{$first{instrument} // {}};
    $found->($least, $1);
  }
}

sub texts_in
{
  my ($text, $found)= @_;
  my @texts= ($text =~ /\$state=\s*([^;\n]+);/g, $text =~ /'([^'\n]*)'/g, $text =~ /"([^"\n]*)"/g);
  for (@texts)
  {
    next unless / / && length >= 8;
    $found->($first{text}{lc $_}, $_);
    next unless s/%$//;
    my $begin= lc $_;
    my ($least)= sort { $a <=> $b } map { $first{text}{$_} }
      grep { index($_, $begin) == 0 } keys %{$first{text}};
    $found->($least, "$_%");
  }
  # A pattern for the error log: its longest part has to be in a text.
  while ($text =~ /SEARCH_PATTERN=\s*([^;\n]+)/g)
  {
    my ($part)= sort { length $b <=> length $a } split /[^\w ',:]|\\./, $1;
    next unless defined $part && length $part >= 12;
    my ($least)= sort { $a <=> $b } map { $first{text}{$_} }
      grep { index($_, lc $part) >= 0 } keys %{$first{text}};
    $found->($least, $part);
  }
}

# Columns, of the tables that the statement names; without one (in a variable), those whose names can be nothing else.
sub columns_in
{
  my ($text, $found)= @_;
  my %any;
  for my $table (grep { /^THREAD_POOL_/ } keys %columns)
  {
    for my $column (grep { /_/ } keys %{$columns{$table}})
    {
      my $n= $columns{$table}{$column};
      $any{$column}= $n if !defined $any{$column} || $n < $any{$column};
    }
  }
  for my $statement (split /;|\n(?=\s*--)/, $text =~ s/^(\s*--.*)/$1;/mgr)
  {
    my @tables= grep { $columns{$_} } map { uc } $statement =~ /\bINFORMATION_SCHEMA\.(\w+)/gi;
    if ($statement =~ /^\s*(?:DESC|DESCRIBE|SELECT\s+\*|SHOW\s+(?:CREATE|COLUMNS))/i)
    {
      for my $table (@tables)
      {
        $found->($columns{$table}{$_}, $_) for keys %{$columns{$table}};
      }
    }
    my $is_query= $statement =~ /\bFROM\b/i;
    my $code= $statement =~ s/'[^']*'//gr;
    while ($code =~ /(?<![\$\@\w])([A-Za-z]\w*)\b(?!\s*\()/g)
    {
      my ($word, $column)= ($1, uc $1);
      my ($least)= sort { $a <=> $b } grep { defined } map { $columns{$_}{$column} } @tables;
      $least= $any{$column} if !defined $least && !$is_query && !exists $first{variable}{lc $word};
      $found->($least, $word);
    }
  }
}

# --- the report ---------------------------------------------------------------

sub patch_name { return $patches[$_[0] - 1]; }

sub print_needs
{
  for my $test (sort keys %need)
  {
    my ($n, $name, $file)= @{$need{$test}};
    my @by= grep { grep { $_ eq $test } @{$tests_of{$_}} } 1 .. @patches;
    print "$test\t", $n ? patch_name($n) : '-', "\t$name\t$file\t", join(' ', map { patch_name($_) } @by), "\n";
  }
  return 0;
}

sub compare
{
  my ($wrong, %named)= (0);
  for my $n (sort { $a <=> $b } keys %tests_of)
  {
    for my $test (@{$tests_of{$n}})
    {
      $named{$test}= 1;
      my ($needed, $name, $file)= @{$need{$test} // need_of_file($test)};
      next if $needed <= $n;
      $wrong= 1;
      print patch_name($n), " names $test, which needs $name",
        $file ? " (in $file)" : '', " of ", patch_name($needed), "\n";
    }
  }
  for my $test (grep { !$named{$_} } sort keys %need)
  {
    $wrong= 1;
    my ($n, $name)= @{$need{$test}};
    print "no patch names $test", $n ? "; the last that it needs is " . patch_name($n) . ", for $name" : '', "\n";
  }
  return $wrong;
}

# Another suite's test, or a unit test: a patch may add it.
sub need_of_file
{
  my ($test)= @_;
  my $file= $test =~ /^unit:(.*?)(?:-t)?$/ ? "unittest/sql/$1-t.cc" :
    $test =~ /^main\.(.*)/ ? "mysql-test/main/$1.test" :
    $test =~ /^(.*?)\.(.*)/ ? "mysql-test/suite/$1/t/$2.test" : '';
  return [$file_added{$file} // 0, $file, ''];
}
