# Files that a report is read from and written to: text, and CSV.
package Report::Files;
use strict;
use warnings;
use utf8;
use Exporter qw(import);
use Encode qw(decode encode);
use List::Util qw(any);

our @EXPORT_OK = qw(fail complain read_text write_file read_csv csv_line is_number check_number);

sub fail        { print STDERR "report.pl: $_[0]\n"; exit 2 }

sub complain    { print STDERR "report.pl: warning: $_[0]\n"; return }

sub read_text {
    my ($path) = @_;
    open(my $in, '<:raw', encode('UTF-8', $path)) or fail("cannot read $path: $!");
    local $/;
    my $text = <$in>;
    close $in;
    return decode('UTF-8', $text // '');
}

sub write_file {
    my ($path, $text) = @_;
    open(my $out, '>:raw', encode('UTF-8', $path)) or fail("cannot write $path: $!");
    print {$out} encode('UTF-8', $text);
    close $out or fail("cannot write $path: $!");
    return;
}

# The records of a CSV file, each as [line number, fields...].
sub csv_records {
    my ($path) = @_;
    my ($pending, $start, $line, @records) = ('', 0, 0);
    for my $text (split /(?<=\n)/, read_text($path)) {
        $line++;
        $start = $line if $pending eq '';
        $pending .= $text;
        # A quoted field may contain a line end: an odd number of quotes means that one is still open.
        next if ($pending =~ tr/"//) % 2;
        $pending =~ s/\r?\n\z//;
        push @records, [$start, csv_fields($path, $start, $pending)] if $pending ne '';
        $pending = '';
    }
    fail("$path:$start: malformed CSV: a quote is not closed") if $pending ne '';
    fail("$path: is empty, expected a header line") if !@records;
    return @records;
}

sub csv_fields {
    my ($path, $line, $text) = @_;
    my @fields;
    while (1) {
        $text =~ /\G(?:"((?:[^"]|"")*)"|([^",]*))(,|\z)/gc
            or fail("$path:$line: malformed CSV: misplaced quote in field " . (@fields + 1));
        my ($quoted, $plain, $end) = ($1, $2, $3);
        $quoted =~ s/""/"/g if defined $quoted;
        push @fields, $quoted // $plain;
        return @fields if $end eq '';
    }
}

# (header, rows): every row a hash by column name, with its line number as '.line'.
sub read_csv {
    my ($path, @required) = @_;
    my ($head, @records) = csv_records($path);
    my (undef, @header) = @$head;
    for my $column (@required) {
        fail("$path:1: no column '$column' in the header") if !any { $_ eq $column } @header;
    }
    my @rows;
    for my $record (@records) {
        my ($line, @fields) = @$record;
        fail("$path:$line: malformed CSV: " . @fields . ' fields where the header has ' . @header)
            if @fields != @header;
        my %row = ('.line' => $line);
        @row{@header} = @fields;
        push @rows, \%row;
    }
    return (\@header, \@rows);
}

sub csv_line {
    return join(',', map { /[",\r\n]/ ? '"' . s/"/""/gr . '"' : $_ } @_) . "\n";
}

sub is_number { return $_[0] =~ /\A-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\z/ }

sub check_number {
    my ($path, $row, $column) = @_;
    fail("$path:$row->{'.line'}: '$row->{$column}' in column '$column' is not a number")
        if $row->{$column} ne '' && !is_number($row->{$column});
    return;
}

1;
