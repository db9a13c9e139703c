# Draws drift.svg and drift.pdf from drift.csv: gnuplot drift.gp
reset session
set encoding utf8
set datafile separator comma
set datafile commentschars ''
set key off
set border 3 linecolor rgb '#444444'
set tics nomirror scale 0.5
set terminal svg size 662,346 font 'Helvetica,10.7' noenhanced background 'white'
set output 'drift.svg'
set key outside right center Left reverse samplen 2
set logscale x
set xrange [5:240]
set xtics (6, 10, 20, 50, 100, 200)
set yrange [0:100]
set xlabel 'candidates a side'
set ylabel 'discordance rate of shuffled labels, %'
set grid linecolor rgb '#e5e5e5'
plot 'drift.csv' using 2:($1 == 1 ? $3 : 1/0) with linespoints linecolor rgb '#d55e00' dashtype 1 pointtype 9 pointsize 0.45 title 'unequal, 9 negatives a positive', \
     '' using 2:($1 == 2 ? $3 : 1/0) with linespoints linecolor rgb '#d55e00' dashtype 2 pointtype 9 pointsize 0.45 title 'unequal, 3', \
     '' using 2:($1 == 3 ? $3 : 1/0) with linespoints linecolor rgb '#d55e00' dashtype 3 pointtype 9 pointsize 0.45 title 'unequal, 1', \
     '' using 2:($1 == 4 ? $3 : 1/0) with linespoints linecolor rgb '#009e73' dashtype 1 pointtype 5 pointsize 0.45 title 'literal', \
     '' using 2:($1 == 5 ? $3 : 1/0) with linespoints linecolor rgb '#0072b2' dashtype 1 pointtype 7 pointsize 0.45 title 'equal', \
     '' using 2:($1 == 6 ? $3 : 1/0) with linespoints linecolor rgb '#0072b2' dashtype 3 pointtype 6 pointsize 0.45 title 'distinct, 5 images a patient', \
     '' using 2:($1 == 7 ? $3 : 1/0) with linespoints linecolor rgb '#666666' dashtype 1 pointtype 11 pointsize 0.45 title 'equal, 2 images a patient', \
     '' using 2:($1 == 8 ? $3 : 1/0) with linespoints linecolor rgb '#666666' dashtype 2 pointtype 11 pointsize 0.45 title 'equal, 5', \
     '' using 2:($1 == 9 ? $3 : 1/0) with linespoints linecolor rgb '#666666' dashtype 3 pointtype 11 pointsize 0.45 title 'equal, 10'
if (strstrt(GPVAL_TERMINALS, 'pdfcairo') > 0) {
    set terminal pdfcairo size 6.90,3.60 font 'Helvetica,8' noenhanced linewidth 1.2 background 'white'
    set output 'drift.pdf'
    replot
}
set output
