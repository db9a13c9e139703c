#!/usr/bin/env bash
# Draws the discordance rates of a results file: one row an encoder, D with its interval, chance at 50.
#   usage: jobs/picture.sh OUT.h5 PICTURE.svg [TASK]      (CANDOR names the program; needs gnuplot)
set -euo pipefail
results=${1:?results file} picture=${2:?picture to write} task=${3:-}
candor=${CANDOR:-candor}
command -v gnuplot >/dev/null || { echo "picture.sh: gnuplot is missing; install gnuplot-nox" >&2; exit 2; }
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT

where=(--where level=micro)
[[ -z $task ]] || where+=(--where "task=$task")
"$candor" show "$results" tasks --format csv "${where[@]}" --columns encoder,anchor,d,d_low,d_high |
    tail -n +2 | sort -t, -k2,2n -k3,3g >"$data/rates.csv"
rows=$(wc -l <"$data/rates.csv")
((rows > 0)) || { echo "picture.sh: no task rows to draw" >&2; exit 2; }

gnuplot - <<END
set terminal svg size 640,$((80 + 34 * rows)) font "Helvetica,14" background "white"
set output "$data/picture.svg"
set datafile separator ","
set xrange [0:60]
set yrange [$rows.5:0.5]
set xlabel "discordance rate D, % (0: every positive beside its own kind)"
set xtics 10 nomirror
set ytics nomirror
set border 3
set key off
set grid xtics linetype 1 linecolor rgb "#dddddd"
set arrow from 50, graph 0 to 50, graph 1 nohead dashtype 2 linewidth 2 linecolor rgb "#444444" front
set label "chance" at 50.6, graph 0.96 textcolor rgb "#444444" front
plot "$data/rates.csv" using (100*\$3):(\$0+1):(100*\$4):(100*\$5):ytic(stringcolumn(1).(column(2) == 1 ? " (anchor)" : "")) \
     with xerrorbars pointtype 7 pointsize 0.9 linewidth 2 linecolor rgb "#0072b2"
END
mv "$data/picture.svg" "$picture"
