#!/usr/bin/env bash
# Submits a study to Slurm as three jobs, each after the one before has ended well: check, run, tables.
#   usage: jobs/submit.sh STUDY.toml OUT_DIR [--dry-run] [-- OPTIONS OF candor run]
# Run again it goes on where the study stands. The settings of the cluster are in jobs/site.env, or in the file that
# CANDOR_SITE names; jobs/site.example.env says what they are.
set -euo pipefail
jobs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=common.bash
source "$jobs/common.bash"

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "${BASH_SOURCE[0]}"; }
dry='' places=() options=()
while (($#)); do
    case $1 in
        --help | -h) usage && exit ;;
        --dry-run) dry=yes ;;
        --) shift && options=("$@") && break ;;
        -*) die "$1: no such option; see jobs/submit.sh --help" ;;
        *) places+=("$1") ;;
    esac
    shift
done
((${#places[@]} == 2)) || { usage >&2; exit 2; }
[[ -f ${places[0]} ]] || die "${places[0]}: no such study file"
[[ -n ${places[1]} ]] || die "OUT_DIR: has an empty name; name a folder"
study=$(realpath -- "${places[0]}")
out=$(realpath -m -- "${places[1]}")
name=$(basename -- "$study" .toml)
results=$out/$name.h5

site=${CANDOR_SITE:-}
if [[ -n $site ]]; then
    [[ -f $site && -r $site ]] || die "CANDOR_SITE=$site: no file that can be read; name the settings of the site"
    site=$(realpath -- "$site")
elif [[ -f $jobs/site.env ]]; then
    site=$jobs/site.env
else
    say "no jobs/site.env and no CANDOR_SITE: taking the defaults of jobs/common.bash"
fi
read_site "$jobs" "$site"

# The check knows of what changes the study, not of how it is run.
changes=()
for ((i = 0; i < ${#options[@]}; i++)); do
    case ${options[i]} in
        --set)
            ((i + 1 < ${#options[@]})) || die "--set: needs section.key=value after it, e.g. --set operator.k=3"
            changes+=(--set "${options[i + 1]}")
            ;;
        --set=*) changes+=("${options[i]}") ;;
    esac
done

# A job's name and its output's: Slurm reads some characters of them as patterns.
label=$(printf %s "$name" | tr -c 'A-Za-z0-9._-' _)
common=(--parsable --output="${out//%/%%}/%x-%j.out" --chdir="$out" --cpus-per-task="$CANDOR_THREADS"
    ${CANDOR_PARTITION:+--partition="$CANDOR_PARTITION"} ${CANDOR_ACCOUNT:+--account="$CANDOR_ACCOUNT"}
    "${CANDOR_SBATCH_OPTIONS[@]}")
after=(--kill-on-invalid-dep=yes)

submitted=()
# Takes back what was submitted of a chain that did not come about.
# shellcheck disable=SC2317
withdraw() {
    ((${#submitted[@]} == 0)) || scancel "${submitted[@]}" || true
    [[ -s $out/submitted.txt ]] || rm -f -- "$out/submitted.txt"
}
# Submits a job and sets `id` to its number, or prints how; $1 says which it is.
submit() {
    local which=$1
    shift
    if [[ -n $dry ]]; then
        printf sbatch
        printf ' %q' "$@"
        printf '\n'
        id=${which^^}
        return
    fi
    id=$(sbatch "$@") || die "$which: sbatch refused the job, and nothing of the study was submitted" 4
    id=${id%%;*}
    submitted+=("$id")
}

if [[ -z $dry ]]; then
    command -v sbatch >/dev/null || die "sbatch: not found; on a machine without Slurm use candor run itself" 4
    if [[ ! -d $out ]]; then
        mkdir -p -- "$out" 2>/dev/null || die "$out: cannot be made; name a folder that can be written" 4
        if ((${#CANDOR_STRIPE[@]})); then lfs setstripe "${CANDOR_STRIPE[@]}" "$out" || say "$out: not striped"; fi
    fi
    { exec {lock}>>"$out/submitted.txt"; } 2>/dev/null || die "$out: cannot be written; name another folder" 4
    # Of two that come at once one submits. Where the file system has no locks, candor's own keeps the runs apart.
    answer=0
    flock --nonblock --conflict-exit-code 9 "$lock" 2>/dev/null || answer=$?
    [[ $answer != 9 && $out/submitted.txt -ef /dev/fd/$lock ]] ||
        die "$out: another submit.sh is at it; wait for it"
    queue=$(squeue --noheader --user="$(id -un)" --format=%A) || die "squeue: Slurm does not answer; try again later" 4
    while read -r number; do
        ! grep -qE "^[^#]* $number( |\$)" "$out/submitted.txt" ||
            die "$out: job $number of it is still in the queue; wait for it, or scancel it"
    done <<<"$queue"
    trap withdraw EXIT
fi

submit check "${common[@]}" --job-name="$label-check" --time="$CANDOR_SHORT_TIME" --nodes=1 \
    --ntasks-per-node="$CANDOR_RANKS_PER_NODE" \
    "$jobs/check.sbatch" "$jobs" "$site" "$study" "$out" "${changes[@]}"
check=$id
submit run "${common[@]}" --job-name="$label-run" --time="$CANDOR_TIME" --nodes="$CANDOR_NODES" \
    --ntasks-per-node="$CANDOR_RANKS_PER_NODE" "${after[@]}" --dependency="afterok:$check" \
    "$jobs/study.sbatch" "$jobs" "$site" "$study" "$results" "$out" "${options[@]}"
run=$id
submit report "${common[@]}" --job-name="$label-report" --time="$CANDOR_SHORT_TIME" --nodes=1 --ntasks=1 \
    "${after[@]}" --dependency="afterok:$run" \
    "$jobs/report.sbatch" "$jobs" "$site" "$results" "$out"
report=$id

[[ -z $dry ]] || exit 0
printf '%s jobs %s %s %s\n' "$(date -u +%FT%TZ)" "$check" "$run" "$report" >>"$out/submitted.txt"
trap - EXIT
echo "submitted check $check, run $run, tables $report; results: $results"
