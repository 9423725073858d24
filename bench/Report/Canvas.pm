# What plots are drawn with: gnuplot, a frame with title and key, axes, labels, bars.
#
# Every plot is drawn in a unit square: positions on logarithmic axes, of zeros and of infinite values are computed
# here, where each special case is one line, and gnuplot only draws.
package Report::Canvas;
use strict;
use warnings;
use utf8;
use Exporter qw(import);
use Encode qw(decode encode);
use File::Spec;
use File::Temp qw(tempfile);
use IPC::Open3 qw(open3);
use List::Util qw(any first max min sum0);
use POSIX qw(ceil floor);
use Text::Wrap qw(wrap);
use Report::Files qw(fail complain read_text write_file);
use Report::Results qw(config_title);
use Report::Statistics qw(INF);
use Report::Words qw(group_digits plural clip);

use constant {
    LOG_SPAN   => 20,      # a larger span of values gets a logarithmic axis
    PLOT_WIDTH => 900,
    MARGIN     => 40,      # pixels right of a plot
    KEY_ROW    => 20,      # pixels
    CEILING    => 0.88,    # where infinite values are drawn, above all others and below their label
};

our @EXPORT_OK = qw(
    PLOT_WIDTH CEILING find_program draw frame config_keys config_index style marker_style line_style value_axis
    tick_text log10 wants_log tics left_margin value_label note_label data_block point_axis spaced_ticks rectangle
    arrow only_objects row_frame clip_name
);

# Okabe and Ito's palette, distinguishable by the colour-blind; marker and dash differ as well.
my @STYLE = map { { colour => $_->[0], marker => $_->[1], dash => $_->[2] } } (
    ['#0072B2', 7,  '1'],
    ['#D55E00', 5,  '(12,4)'],
    ['#009E73', 9,  '(4,3)'],
    ['#CC79A7', 13, '(12,4,2,4)'],
    ['#E69F00', 11, '(2,3)'],
    ['#56B4E9', 15, '(16,3,3,3,3,3)'],
    ['#000000', 3,  '1'],
);

sub find_program {
    my ($name) = @_;
    return first { -x && !-d } map { File::Spec->catfile($_, $name) } File::Spec->path;
}

# Runs the same text for both formats.
sub draw {
    my ($gnuplot, $base, $plot) = @_;
    my $script = "set encoding utf8\n";
    # SVG fonts are measured in pixels, PNG ones in points of 4/3 pixel.
    for my $format (['svg', 'Arial', 1, 'fixed'], ['pngcairo', 'Sans', 0.75, '']) {
        my ($terminal, $face, $scale, $options) = @$format;
        my %size = (small_font => 11, text_font => 12, head_font => 16);
        for my $font (sort keys %size) {
            my $weight = $font eq 'head_font' ? ':Bold' : '';
            $script .= sprintf "%s = '%s%s,%g'\n", $font, $face, $weight, $size{$font} * $scale;
        }
        $script .= sprintf "set terminal %s size %d,%d %s noenhanced font '%s,%g' background rgb 'white'\n",
            $terminal, PLOT_WIDTH, $plot->{height}, $options, $face, 13 * $scale;
        my $suffix = $terminal eq 'svg' ? 'svg' : 'png';
        $script .= 'set output ' . quote("$base.$suffix") . "\n$plot->{script}\nunset output\nreset\n";
    }
    my ($handle, $path) = tempfile(SUFFIX => '.gp', UNLINK => 1);
    print {$handle} encode('UTF-8', $script);
    close $handle;
    open(my $nothing, '<', File::Spec->devnull) or fail("cannot read the null device: $!");
    local $ENV{LC_ALL} = 'C.UTF-8';    # or gnuplot warns about characters that it cannot convert
    my $pid = open3('<&' . fileno($nothing), my $from, undef, $gnuplot, $path);
    my $said = do { local $/; <$from> } // '';
    waitpid $pid, 0;
    my $failed = $?;
    complain("gnuplot on $base: " . decode('UTF-8', $said)) if $failed || $said =~ /\S/;
    return 0 if $failed;
    tidy_svg("$base.svg");
    return 1;
}

# gnuplot 5.4 writes 'Arial:Bold' as the family, which no viewer knows; and Arial is not everywhere.
sub tidy_svg {
    my ($path) = @_;
    my $text = read_text($path);
    $text =~ s/font-family="Arial:Bold"/font-family="Arial" font-weight="bold"/g;
    $text =~ s/font-family="Arial"/font-family="Arial, Helvetica, sans-serif"/g;
    write_file($path, $text);
    return;
}

sub quote { return "'" . ($_[0] =~ s/\s+/ /gr =~ s/'/''/gr) . "'" }

# Title, explanation, origin and key above a unit square that fills the rest; all sizes in pixels.
# Options: run, title, about, keys ([title, kind, index of the style]...), left, bottom, height (of the square).
sub frame {
    my (%o) = @_;
    my @lines = (
        (map { [16, 'head_font', '#000000', $_] } wrapped(88, $o{title})),
        (map { [12, 'text_font', '#000000', $_] } wrapped(136, $o{about})),
        (map { [11, 'small_font', '#606060', $_] } wrapped(136, origin($o{run}))),
    );
    my $key_top = 14 + sum0(map { $_->[0] * 1.5 } @lines);
    my ($rows, @entries) = key_places(@{ $o{keys} });
    my $top    = $key_top + KEY_ROW * $rows + 14;
    my $height = ceil($o{height} ? $top + $o{height} + $o{bottom} : 560);
    my %margin = (
        l => $o{left} / PLOT_WIDTH,  r => 1 - MARGIN / PLOT_WIDTH,
        t => 1 - $top / $height,     b => $o{bottom} / $height,
    );
    my $script = join '', map { sprintf "set %smargin at screen %.4f\n", $_, $margin{$_} } sort keys %margin;
    $script .= "set xrange [0:1]\nset yrange [0:1]\nset border 3 lc rgb '#808080'\nunset key\n"
        . "set tics nomirror out scale 0.6 tc rgb '#000000'\nset errorbars small\n";
    my $y = 10;
    for my $line (@lines) {
        my ($size, $font, $colour, $text) = @$line;
        $script .= screen_text($text, 14, $y + $size * 0.75, $height, "$font tc rgb '$colour'");
        $y += $size * 1.5;
    }
    for my $entry (@entries) {
        my ($x, $row, $title, $kind, $index) = @$entry;
        $script .= key_entry($x, $key_top + KEY_ROW * ($row + 0.5), $height, $title, $kind, $index);
    }
    return { script => $script, height => $height, width_px => PLOT_WIDTH - MARGIN - $o{left} };
}

sub wrapped {
    my ($columns, $text) = @_;
    local $Text::Wrap::columns = $columns;
    return split /\n/, wrap('', '', $text);
}

sub screen_text {
    my ($text, $x, $y, $height, $options) = @_;
    return sprintf "set label %s at screen %.4f, screen %.4f left font %s\n",
        quote($text), $x / PLOT_WIDTH, 1 - $y / $height, $options;
}

# gnuplot's own key has columns as wide as the longest title, and then does not fit in one row: this one flows.
# Returns the number of rows and [x, row, title, kind, index] for each entry.
sub key_places {
    my ($x, $row, @places) = (14, 0);
    for my $key (@_) {
        my $width = 48 + 6.9 * length $key->[0];
        ($x, $row) = (14, $row + 1) if $x > 14 && $x + $width > PLOT_WIDTH;
        push @places, [$x, $row, @$key];
        $x += $width + 16;
    }
    return ($row + 1, @places);
}

sub key_entry {
    my ($x, $y, $height, $title, $kind, $index) = @_;
    my $at = sub { sprintf 'screen %.4f, screen %.4f', $_[0] / PLOT_WIDTH, 1 - $_[1] / $height };
    my $script = screen_text($title, $x + 40, $y, $height, 'text_font');
    $script .= "set object rectangle from " . $at->($x, $y + 5) . ' to ' . $at->($x + 32, $y - 5)
        . " fc rgb '" . style($index)->{colour} . "' fs solid noborder\n" if $kind eq 'box';
    $script .= 'set arrow from ' . $at->($x, $y) . ' to ' . $at->($x + 32, $y) . ' nohead ' . line_style($index) . "\n"
        if $kind =~ /line/;
    $script .= "set label '' at " . $at->($x + 16, $y) . ' point ' . marker_style($index) . "\n" if $kind =~ /marker/;
    return $script;
}

# The key's entries for these configurations.
sub config_keys {
    my ($run, $kind, @configs) = @_;
    return [map { [config_title($run, $_), $kind, config_index($run, $_)] } @configs];
}

sub config_index {
    my ($run, $config) = @_;
    return first { $run->{configs}[$_] eq $config } 0 .. $#{ $run->{configs} };
}

# "full run, 2025-01-01, 2 cores, ..." for those who see the plot alone.
sub origin {
    my ($run) = @_;
    my $fact  = $run->{fact};
    my @parts;
    push @parts, "$fact->{mode} run" if length($fact->{mode} // '');
    push @parts, $fact->{started}    if length($fact->{started} // '');
    if (length(my $cores = $fact->{cores} // '')) {
        push @parts, $cores =~ /^\d+$/ ? plural($cores, 'core') : $cores;
    }
    push @parts, grep { length } map { $fact->{$_} // '' } qw(cpu memory);
    push @parts, 'commit ' . substr($fact->{commit}, 0, 12) if length($fact->{commit} // '');
    return join ', ', @parts;
}

sub style { my ($index) = @_; return $STYLE[$index % @STYLE] }

sub marker_style { my ($index) = @_; return line_style($index) . ' pt ' . style($index)->{marker} . ' ps 1.1' }

sub line_style {
    my ($index) = @_;
    my $style = style($index);
    return "lc rgb '$style->{colour}' lw 2 dt $style->{dash}";
}

# An axis for values: {at => value to position, ticks => [[position, text]...], log}. Zero on a logarithmic axis is at
# its lower end, where $room keeps a place for it; infinite values are above everything that was measured.
sub value_axis {
    my ($values, $log, $top, $room) = @_;
    my @finite   = grep { defined && $_ < INF } @$values;
    my @positive = grep { $_ > 0 } @finite;
    $top = min($top, 0.8) if any { defined && $_ == INF } @$values;
    $room = 1 if @finite != @positive;
    my ($place, @ticks) = $log && @positive
        ? log_places(min(@positive), max(@positive), $room)
        : linear_places(max(0, @finite));
    return {
        log   => $log && @positive ? 1 : 0,
        at    => sub { $_[0] == INF ? CEILING : $top * max(0, min(1, $place->($_[0]))) },
        ticks => [map { [$top * $place->($_), tick_text($_)] } @ticks],
    };
}

sub tick_text { my ($value) = @_; return group_digits(sprintf '%.10g', $value) }

sub linear_places {
    my ($max) = @_;
    $max = 1 if $max <= 0;
    my $unit = 10**floor(log10($max / 4));
    my $step = first { $max / $_ <= 6 } map { $_ * $unit } 1, 2, 2.5, 5, 10, 20;
    return (sub { $_[0] / $max }, map { $_ * $step } 0 .. floor($max / $step + 1e-9));
}

sub log_places {
    my ($min, $max, $room) = @_;
    my @ladder = map { my $e = $_; map { $_ * 10**$e } 1, 2, 5 } floor(log10($min)) - 1 .. ceil(log10($max)) + 1;
    my @below  = grep { $_ <= $min * 1.0001 } @ladder;
    my $low    = $below[$room ? -2 : -1];
    my $high   = first { $_ >= $max * 0.9999 && $_ > $low } @ladder;
    my @ticks  = grep { $_ >= $low && $_ <= $high } @ladder;
    @ticks = grep { abs(log10($_) - sprintf('%.0f', log10($_))) < 1e-6 } @ticks if $high / $low > 3000;
    my $span = log10($high / $low);
    return (sub { $_[0] <= 0 ? 0 : log10($_[0] / $low) / $span }, @ticks);
}

sub log10 { return log($_[0]) / log(10) }

sub wants_log {
    my ($figure, @values) = @_;
    return 0 if $figure->{better} eq 'higher';
    my @positive = grep { defined && $_ > 0 && $_ < INF } @values;
    return @positive && max(@positive) / min(@positive) > LOG_SPAN;
}

sub tics {
    my ($axis, @ticks) = @_;
    return "unset ${axis}tics\n" if !@ticks;
    # gnuplot reads these texts as formats.
    my @texts = map { sprintf '%s %.5f', quote($_->[1] =~ s/%/%%/gr), $_->[0] } @ticks;
    return "set ${axis}tics (" . join(', ', @texts) . ")\n";
}

sub left_margin { my ($ticks) = @_; return 48 + 8 * max(2, map { length $_->[1] } @$ticks) }

# Nearer to the axis than gnuplot's SVG has it, which cuts the text off at the lower edge.
sub value_label {
    my ($axis, $text, $log) = @_;
    return "set ${axis}label " . quote($text . ($log ? ' (log scale)' : '')) . ($axis eq 'x' ? ' offset 0,0.4' : '') . "\n";
}

sub note_label {
    my ($text, $x, $y, $options) = @_;
    return sprintf "set label %s at first %.5f, first %.5f %s font small_font front\n", quote($text), $x, $y, $options;
}

# A named block of data, or nothing if it is empty: gnuplot complains about empty ones.
sub data_block {
    my ($name, @lines) = @_;
    return (any { $_ ne '' } @lines) ? "\$$name << EOD\n" . join("\n", @lines) . "\nEOD\n" : '';
}

# Positions of numeric points; a zero beside a logarithmic range stands one step below the smallest.
sub point_axis {
    my @points   = @_;
    my @positive = grep { $_ > 0 } @points;
    my $log      = @positive && !(grep { $_ < 0 } @points) && max(@positive) / min(@positive) > LOG_SPAN;
    my $raw = $log
        ? sub { log($_[0] > 0 ? $_[0] : min(@positive) / 2) }
        : sub { $_[0] };
    my ($low, $high) = (min(map { $raw->($_) } @points), max(map { $raw->($_) } @points));
    my $span = ($high - $low) || 1;
    return (sub { 0.04 + 0.92 * ($raw->($_[0]) - $low) / $span }, $log);
}

# Blanks the texts that would run into their neighbour; the last one always stays.
sub spaced_ticks {
    my ($width_px, @ticks) = @_;
    my $right = INF;
    for my $tick (reverse @ticks) {
        my $half = (length($tick->[1]) * 8 + 6) / 2;
        if ($tick->[0] * $width_px + $half > $right) { $tick->[1] = ''; next }
        $right = $tick->[0] * $width_px - $half;
    }
    return @ticks;
}

sub rectangle {
    my ($x1, $y1, $x2, $y2, $colour, $fill) = @_;
    return sprintf("set object rectangle from first %.5f, first %.5f to first %.5f, first %.5f front", $x1, $y1, $x2, $y2)
        . " fc rgb '$colour' fs $fill border lc rgb '$colour'\n";
}

sub arrow {
    my ($x1, $y1, $x2, $y2, $options) = @_;
    return sprintf "set arrow from first %.5f, first %.5f to first %.5f, first %.5f %s lc rgb '#303030' lw 1 front\n",
        $x1, $y1, $x2, $y2, $options;
}

# Bars are objects: gnuplot draws them only with some plot, which here lies outside.
sub only_objects { return "plot -1 notitle\n" }

# A frame for one row a scenario, with $slots bars or marks in each row, and the rows' names at the left.
sub row_frame {
    my ($names, $slots, %o) = @_;
    my $row_px = max(34, 17 * $slots + 14);
    my $longest = max map { map { length } split /\n/, $_ } @$names;
    my $frame = frame(%o, left => min(330, 26 + 7.2 * $longest), bottom => 60, height => $row_px * @$names);
    my $script = $frame->{script} . "unset ytics\nset border 1\n";
    for my $i (0 .. $#$names) {
        my $middle = 1 - ($i + 0.5) / @$names;
        my @lines  = split /\n/, $names->[$i];
        for my $line (0 .. $#lines) {
            $script .= note_label($lines[$line], 0, $middle,
                sprintf("right offset -1,%g tc rgb '%s'", ($#lines / 2 - $line) * 0.95, $line ? '#606060' : '#000000'));
        }
        $script .= sprintf "set arrow from graph 0, first %.5f to graph 1, first %.5f nohead lc rgb '#e8e8e8' back\n",
            ($i / @$names) x 2 if $i;
    }
    $frame->{script} = $script;
    $frame->{slot}   = 17 / ($row_px * @$names);
    $frame->{middle} = sub {
        my ($row, $slot) = @_;
        return 1 - ($row + 0.5) / @$names - ($slot - ($slots - 1) / 2) * $frame->{slot};
    };
    return $frame;
}

sub clip_name { my ($text) = @_; return clip($text, 42) =~ s/~$/…/r }

1;
