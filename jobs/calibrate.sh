#!/usr/bin/env bash
# Proves on the processors that a study will run on that candor's numbers mean what they say: all of candor calibrate.
#   usage: jobs/calibrate.sh OUT_DIR [--dry-run] [-- OPTIONS OF candor calibrate]
# Under Slurm it submits itself as one job; elsewhere it runs at once, by mpirun on this machine. Settings as for submit.sh.
# OUT_DIR then holds calibration.txt (a verdict a line), calibration.h5 and the figure drift.svg. Ends with 1 where a proof
# fails.
set -euo pipefail
within='' dry='' places=() options=()
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "${BASH_SOURCE[0]}"; }
jobs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# In a job this file is a copy elsewhere: the job is told where it came from.
if [[ ${1:-} == --within ]]; then
    within=yes jobs=$2 CANDOR_SITE=$3
    shift 3
fi
candor_script=calibrate.sh
# shellcheck source-path=SCRIPTDIR source=common.bash
source "$jobs/common.bash"
while (($#)); do
    case $1 in
        --help | -h) usage && exit ;;
        --dry-run) dry=yes ;;
        --) shift && options=("$@") && break ;;
        -*) die "$1: no such option; see jobs/calibrate.sh --help" ;;
        *) places+=("$1") ;;
    esac
    shift
done
((${#places[@]} == 1)) || { usage >&2; exit 2; }
[[ -n ${places[0]} ]] || die "OUT_DIR: has an empty name; name a folder"
out=$(realpath -m -- "${places[0]}")
site=${CANDOR_SITE:-}
[[ -n $site || ! -f $jobs/site.env ]] || site=$jobs/site.env
read_site "$jobs" "$site"
if [[ -z $within ]] && ! command -v sbatch >/dev/null; then # this machine alone
    CANDOR_NODES=1 CANDOR_RANKS_PER_NODE=$(($(env -u OMP_NUM_THREADS nproc) / CANDOR_THREADS)) CANDOR_LAUNCHER=mpirun
    ((CANDOR_RANKS_PER_NODE > 0)) || die "CANDOR_THREADS=$CANDOR_THREADS: more than the processors here"
    CANDOR_MPIRUN_OPTIONS=(--map-by "slot:PE=$CANDOR_THREADS" --bind-to core)
    within=yes
fi
if [[ -z $within ]]; then
    [[ -z $site ]] || site=$(realpath -- "$site")
    submit=(sbatch --job-name=candor-calibrate --output="${out//%/%%}/%x-%j.out" --time="$CANDOR_TIME"
        --nodes="$CANDOR_NODES" --ntasks-per-node="$CANDOR_RANKS_PER_NODE" --cpus-per-task="$CANDOR_THREADS"
        ${CANDOR_PARTITION:+--partition="$CANDOR_PARTITION"} ${CANDOR_ACCOUNT:+--account="$CANDOR_ACCOUNT"}
        --no-requeue "${CANDOR_SBATCH_OPTIONS[@]}" "$jobs/calibrate.sh" --within "$jobs" "$site" "$out"
        -- "${options[@]}")
    if [[ -n $dry ]]; then
        printf '%q ' "${submit[@]}" && echo
        exit
    fi
    mkdir -p -- "$out" || die "$out: cannot be made; name a folder that can be written" 4
    exec "${submit[@]}"
fi

prepare_job
choose_launcher "$((CANDOR_NODES * CANDOR_RANKS_PER_NODE))" "$CANDOR_NODES"
command=("${launch[@]}" "$CANDOR_PROGRAM" calibrate -o "$out/calibration.h5")
# --quick makes nothing to draw.
[[ " ${options[*]} " == *" --quick "* ]] || command+=(--figure "$out/drift")
command+=("${options[@]}")
if [[ -n $dry ]]; then
    printf '%q ' "${command[@]}" && echo
    exit
fi
mkdir -p -- "$out" || die "$out: cannot be made; name a folder that can be written" 4
[[ -n ${SLURM_JOB_ID:-} ]] || SLURM_JOB_ID=local
write_provenance "$out/provenance-$SLURM_JOB_ID.txt" "${command[@]}"
status=0
"${command[@]}" >"$out/calibration.txt" || status=$?
cat "$out/calibration.txt"
exit "$status"
