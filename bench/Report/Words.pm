# Values and points as text, the same in tables and plots.
package Report::Words;
use strict;
use warnings;
use utf8;
use Exporter qw(import);
use Report::Files qw(is_number);
use Report::Statistics qw(INF figure_ratio ratio_quartiles);

our @EXPORT_OK = qw(
    group_digits format_value format_cell format_ratio format_figure_ratio plain_number plural point_text at_point
    clip
);

sub group_digits {
    my ($text) = @_;
    1 while $text =~ s/^(-?\d+)(\d{3})/$1,$2/;
    return $text;
}

sub format_value {
    my ($value) = @_;
    return 'none finished' if $value == INF;
    return '0' if $value == 0;
    my $size = abs $value;
    return group_digits(sprintf '%.0f', $value) if $size >= 99.95;
    return sprintf '%.1f', $value if $size >= 9.995;
    return sprintf '%.2f', $value if $size >= 0.9995;
    return sprintf '%.3f', $value if $size >= 0.01;
    return sprintf '%.2g', $value;
}

sub format_cell {
    my ($cell) = @_;
    return format_value($cell->{median}) if defined $cell->{median};
    return $cell->{failed} ? 'failed' : '-';
}

sub format_ratio {
    my ($ratio) = @_;
    return '-'   if !defined $ratio;
    return 'inf' if $ratio == INF;
    return group_digits(sprintf '%.0f', $ratio) if $ratio >= 100;
    return sprintf '%.1f', $ratio if $ratio >= 10;
    return sprintf '%.2f', $ratio if $ratio >= 0.1 || $ratio == 0;
    return $ratio >= 0.0005 ? sprintf('%.3f', $ratio) : sprintf '%.1e', $ratio;
}

sub format_figure_ratio {
    my (@place) = @_;
    my $text = format_ratio(figure_ratio(@place));
    my @quartiles = $text eq '-' ? () : ratio_quartiles(@place);
    return @quartiles ? "$text [" . join(' ', map { format_ratio($_) } @quartiles) . ']' : $text;
}

sub plain_number { my ($value) = @_; return !defined $value ? '' : $value == INF ? 'inf' : sprintf '%.6g', $value }

sub plural { my ($count, $word) = @_; return group_digits($count) . " $word" . ($count == 1 ? '' : 's') }

# "8192 clients", "mixed", or nothing where the only point has no meaning.
sub point_text {
    my ($scenario, $point) = @_;
    my $axis = $scenario->{axis} // '';
    return '' if @{ $scenario->{measured} } == 1 && $axis eq '';
    return $axis ne '' && is_number($point) ? "$point $axis" : $point;
}

sub at_point {
    my ($scenario, @points) = @_;
    my @text = grep { $_ ne '' } map { point_text($scenario, $_) } @points;
    my $axis = $scenario->{axis} // '';
    s/ \Q$axis\E$// for @text[0 .. $#text - 1];
    return @text ? ' at ' . join(', ', @text) : '';
}

sub clip {
    my ($text, $width) = @_;
    return length($text) <= $width ? $text : substr($text, 0, $width - 1) . '~';
}

1;
