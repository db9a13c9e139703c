#!/usr/bin/env bash
# How the run of a study gets faster with more ranks (strong scaling), or how much more it does in the same time (weak).
#   usage: jobs/scaling.sh STUDY.toml OUT_DIR [--ranks "1 2 4"] [--weak ROWS] [--dry-run] [-- OPTIONS OF candor run]
# Under Slurm it submits itself as one job that has its nodes alone; elsewhere it runs at once, by mpirun on this machine.
# Settings as for submit.sh. Ranks: powers of two up to CANDOR_NODES x CANDOR_RANKS_PER_NODE unless given. --weak: pool.rows is ROWS
# on the first number of ranks and grows with the square root of the ranks, so that the pairs a rank meets stay as many
# (in cells below bank_cap). Seconds are those of the whole command, start of the ranks included. The table is printed
# and written to OUT_DIR/strong.csv or OUT_DIR/weak.csv.
set -euo pipefail
within='' dry='' ranks='' rows='' places=() options=()
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "${BASH_SOURCE[0]}"; }
jobs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# In a job this file is a copy elsewhere: the job is told where it came from.
if [[ ${1:-} == --within ]]; then
    within=yes jobs=$2 CANDOR_SITE=$3
    shift 3
fi
candor_script=scaling.sh
# shellcheck source-path=SCRIPTDIR source=common.bash
source "$jobs/common.bash"
while (($#)); do
    case $1 in
        --help | -h) usage && exit ;;
        --dry-run) dry=yes ;;
        --ranks | --weak)
            [[ -n ${2:-} ]] || die "$1: needs a value; see jobs/scaling.sh --help"
            if [[ $1 == --ranks ]]; then ranks=$2; else rows=$2; fi
            shift
            ;;
        --) shift && options=("$@") && break ;;
        -*) die "$1: no such option; see jobs/scaling.sh --help" ;;
        *) places+=("$1") ;;
    esac
    shift
done
((${#places[@]} == 2)) || { usage >&2; exit 2; }
[[ -f ${places[0]} ]] || die "${places[0]}: no such study file"
[[ -z $rows || $rows =~ ^[1-9][0-9]*$ ]] || die "--weak $rows: must be a number of rows"
[[ -n ${places[1]} ]] || die "OUT_DIR: has an empty name; name a folder"
study=$(realpath -- "${places[0]}")
out=$(realpath -m -- "${places[1]}")
site=${CANDOR_SITE:-}
[[ -n $site || ! -f $jobs/site.env ]] || site=$jobs/site.env
read_site "$jobs" "$site"
if [[ -z $within ]] && ! command -v sbatch >/dev/null; then # this machine alone
    CANDOR_NODES=1 CANDOR_RANKS_PER_NODE=$(($(env -u OMP_NUM_THREADS nproc) / CANDOR_THREADS)) CANDOR_LAUNCHER=mpirun
    ((CANDOR_RANKS_PER_NODE > 0)) || die "CANDOR_THREADS=$CANDOR_THREADS: more than the processors here"
    CANDOR_MPIRUN_OPTIONS=(--map-by "slot:PE=$CANDOR_THREADS" --bind-to core)
    within=yes
fi
if [[ -z $ranks ]]; then
    for ((r = 1; r <= CANDOR_NODES * CANDOR_RANKS_PER_NODE; r *= 2)); do ranks+=" $r"; done
fi
for r in $ranks; do
    [[ $r =~ ^[1-9][0-9]*$ ]] || die "--ranks $r: must be numbers of ranks, the smallest first"
    ((r <= CANDOR_NODES * CANDOR_RANKS_PER_NODE)) ||
        die "--ranks $r: more than CANDOR_NODES x CANDOR_RANKS_PER_NODE = $((CANDOR_NODES * CANDOR_RANKS_PER_NODE))"
done

if [[ -z $within ]]; then
    [[ -z $site ]] || site=$(realpath -- "$site")
    submit=(sbatch --job-name=candor-scaling --output="${out//%/%%}/%x-%j.out" --time="$CANDOR_TIME" --exclusive
        --nodes="$CANDOR_NODES" --ntasks-per-node="$CANDOR_RANKS_PER_NODE" --cpus-per-task="$CANDOR_THREADS"
        ${CANDOR_PARTITION:+--partition="$CANDOR_PARTITION"} ${CANDOR_ACCOUNT:+--account="$CANDOR_ACCOUNT"}
        --no-requeue "${CANDOR_SBATCH_OPTIONS[@]}" "$jobs/scaling.sh" --within "$jobs" "$site" "$study" "$out"
        --ranks "${ranks# }" ${rows:+--weak "$rows"} -- "${options[@]}")
    if [[ -n $dry ]]; then
        printf '%q ' "${submit[@]}" && echo
        exit
    fi
    mkdir -p -- "$out" || die "$out: cannot be made; name a folder that can be written" 4
    exec "${submit[@]}"
fi

kind=strong
[[ -z $rows ]] || kind=weak
prepare_job
# The words that run the study on $1 ranks, into `command`.
make_command() {
    local nodes=$((($1 + CANDOR_RANKS_PER_NODE - 1) / CANDOR_RANKS_PER_NODE))
    choose_launcher "$1" "$nodes"
    command=("${launch[@]}" "$CANDOR_PROGRAM" run "$study" -o "$out/$kind-$1.h5" --overwrite --quiet
        "${CANDOR_RUN_OPTIONS[@]}" "${options[@]}")
    [[ -z $rows ]] || command+=(--set "pool.rows=$(rows_of "$1")")
}
rows_of() { awk -v rows="$rows" -v ranks="$1" -v first="${ranks%% *}" 'BEGIN { printf "%d", rows * sqrt(ranks / first) + 0.5 }'; }
ranks=${ranks# }
if [[ -n $dry ]]; then
    for r in $ranks; do
        make_command "$r"
        printf '%q ' "${command[@]}" && echo
    done
    exit
fi

mkdir -p -- "$out" || die "$out: cannot be made; name a folder that can be written" 4
[[ -n ${SLURM_JOB_ID:-} ]] || SLURM_JOB_ID=local
table=$out/$kind.csv
echo "ranks,nodes,rows,seconds,speed_up,efficiency" >"$table.part"
first='' answering_before=''
for r in $ranks; do
    make_command "$r"
    write_provenance "$out/provenance-$SLURM_JOB_ID.txt" "${command[@]}"
    start=$EPOCHREALTIME
    "${command[@]}" || die "${command[*]}: ended with $?; no table" 4
    end=$EPOCHREALTIME
    if [[ -n $rows ]]; then
        answering=$("$CANDOR_PROGRAM" show "$out/$kind-$r.h5" cells --format csv --columns n_pos,n_neg |
            awk -F, '{ sum += $1 + $2 } END { print sum }')
        [[ $answering != "$answering_before" ]] ||
            die "the study has no more rows than $r ranks ask for; give a smaller --weak or fewer ranks" 3
        answering_before=$answering
    fi
    rm -f "$out/$kind-$r.h5"
    : "${first:="$r $start $end"}"
    awk -v first="$first" -v ranks="$r" -v nodes="$(((r + CANDOR_RANKS_PER_NODE - 1) / CANDOR_RANKS_PER_NODE))" \
        -v rows="${rows:+$(rows_of "$r")}" -v kind="$kind" -v start="$start" -v end="$end" 'BEGIN {
            split(first, base, " ")
            seconds = end - start
            gain = (base[3] - base[2]) / seconds
            more = ranks / base[1]
            up = kind == "strong" ? gain : gain * more
            printf "%d,%d,%s,%.2f,%.2f,%.2f\n", ranks, nodes, rows, seconds, up, up / more
        }' >>"$table.part"
done
mv "$table.part" "$table"
awk -F, '{ printf "%7s %7s %9s %9s %9s %11s\n", $1, $2, $3, $4, $5, $6 }' "$table"
