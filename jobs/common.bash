# What the job scripts share: sourced by them, not run by itself.
# shellcheck shell=bash disable=SC2034,SC2317

say() { printf '%s: %s\n' "${candor_script:-${0##*/}}" "$*" >&2; }
die() {
    say "$1"
    exit "${2:-2}"
}

# Reads the settings of this cluster and fills in what they leave out. $1: the folder jobs/; $2: the file of the site,
# empty where there is none.
read_site() {
    local jobs=$1 site=$2
    candor_environment() { :; }
    CANDOR_SBATCH_OPTIONS=() CANDOR_RUN_OPTIONS=() CANDOR_STRIPE=()
    unset CANDOR_SRUN_OPTIONS CANDOR_MPIRUN_OPTIONS
    if [[ -n $site ]]; then
        [[ -f $site && -r $site ]] || die "$site: the settings of the site cannot be read"
        # shellcheck disable=SC1090
        source "$site"
    fi
    : "${CANDOR_NODES:=2}" "${CANDOR_RANKS_PER_NODE:=2}" "${CANDOR_THREADS:=1}" "${CANDOR_TIME:=02:00:00}"
    : "${CANDOR_SHORT_TIME:=00:30:00}" "${CANDOR_MAX_RESTARTS:=20}" "${CANDOR_LAUNCHER:=}"
    local name
    for name in CANDOR_NODES CANDOR_RANKS_PER_NODE CANDOR_THREADS; do
        [[ ${!name} =~ ^[1-9][0-9]*$ ]] || die "$name=${!name}: must be a whole number above 0"
    done
    for name in CANDOR_TIME CANDOR_SHORT_TIME; do # as sbatch --time takes them
        [[ ${!name} =~ ^([0-9]+-[0-9]+(:[0-9]+){0,2}|[0-9]+(:[0-9]+){0,2}|infinite|INFINITE|unlimited|UNLIMITED)$ ]] ||
            die "$name=${!name}: must be a time of Slurm, e.g. 02:00:00 or 1-12"
    done
    [[ $CANDOR_MAX_RESTARTS =~ ^(0|[1-9][0-9]*)$ ]] ||
        die "CANDOR_MAX_RESTARTS=$CANDOR_MAX_RESTARTS: must be a whole number"
    [[ $CANDOR_LAUNCHER =~ ^(srun|mpirun)?$ ]] || die "CANDOR_LAUNCHER=$CANDOR_LAUNCHER: must be srun or mpirun"
    declare -p CANDOR_SRUN_OPTIONS >/dev/null 2>&1 || CANDOR_SRUN_OPTIONS=(--mpi=pmix)
    declare -p CANDOR_MPIRUN_OPTIONS >/dev/null 2>&1 ||
        CANDOR_MPIRUN_OPTIONS=(--map-by "ppr:$CANDOR_RANKS_PER_NODE:node:PE=$CANDOR_THREADS" --bind-to core)
    if [[ -z ${CANDOR_PROGRAM:-} ]]; then
        CANDOR_PROGRAM=$jobs/../build/release/candor
        [[ -x $CANDOR_PROGRAM ]] || CANDOR_PROGRAM=candor
    fi
}

# The environment of a job: threads, modules, what the site sets.
prepare_job() {
    # A job submitted with --export=NONE would hand an empty environment on to its steps.
    unset SLURM_EXPORT_ENV
    export OMP_NUM_THREADS=$CANDOR_THREADS OPENBLAS_NUM_THREADS=1
    candor_environment
    command -v "$CANDOR_PROGRAM" >/dev/null ||
        die "$CANDOR_PROGRAM: not found on $(hostname); set CANDOR_PROGRAM in the settings of the site"
}

# Sets `launch` to the words that start $1 ranks on $2 nodes.
choose_launcher() {
    local ranks=$1 nodes=$2 launcher=$CANDOR_LAUNCHER
    if [[ -z $launcher ]]; then
        launcher=mpirun
        [[ $(srun --mpi=list 2>&1) != *pmix* ]] || launcher=srun
    fi
    case $launcher in
        srun)
            # Newer versions of Slurm do not hand --cpus-per-task on from the job to its steps.
            launch=(srun --kill-on-bad-exit=1 --nodes="$nodes" --ntasks="$ranks" --cpus-per-task="$CANDOR_THREADS"
                "${CANDOR_SRUN_OPTIONS[@]}")
            ;;
        mpirun) launch=(mpirun -np "$ranks" "${CANDOR_MPIRUN_OPTIONS[@]}") ;;
    esac
}

# Adds to the file $1 what this stretch of a job runs in; the command follows.
write_provenance() {
    local file=$1 text
    shift
    text=$(provenance "$@")
    { printf '%s\n' "$text" >>"$file"; } 2>/dev/null || die "$file: cannot be written; is its disk full?" 4
}

provenance() {
    printf '== %s job %s restart %s\n' "$(date -u +%FT%TZ)" "${SLURM_JOB_ID:-none}" "${SLURM_RESTART_COUNT:-0}"
    printf '$'
    printf ' %q' "$@"
    printf '\n-- nodes\n%s\n' "${SLURM_JOB_NODELIST:-$(hostname)}"
    printf -- '-- program\n'
    "$CANDOR_PROGRAM" --version
    printf -- '-- libraries\n'
    ldd "$(command -v "$CANDOR_PROGRAM")" | sed -n 's/^[[:space:]]*//p' | sort || true
    printf -- '-- modules\n'
    if type module >/dev/null 2>&1; then module list 2>&1; else echo "no modules here"; fi
    printf -- '-- job\n'
    scontrol show job "${SLURM_JOB_ID:-0}" 2>&1 || true
    printf -- '-- settings of the site\n'
    declare -p "${!CANDOR_@}" 2>/dev/null || true
    printf -- '-- environment\n'
    env | grep -E '^(SLURM|SRUN|SBATCH|OMP|OPENBLAS|OMPI|PMIX|PRTE|UCX|FI|HDF5|ROMIO|MPICH|I_MPI)_|^(PATH|LD_LIBRARY_PATH|LOADEDMODULES)=' |
        sort || true
}
