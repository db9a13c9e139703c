# What candor needs and how to get it: sourced by jobs/demo.sh and tests/run.sh, not run by itself.
# shellcheck shell=bash

# Debian and Ubuntu names; the scripts that source this file use both lists.
# shellcheck disable=SC2034
build_packages=(
    git cmake ninja-build g++ pkg-config
    openmpi-bin libopenmpi-dev libhdf5-openmpi-dev libopenblas-dev
    libboost-dev libboost-program-options-dev libtomlplusplus-dev libxxhash-dev librandom123-dev libzip-dev
    libhwy-dev zlib1g-dev gnuplot-nox
)
# For TorchScript encoders and images of all kinds (-DCANDOR_WITH_EMBED=ON): 1.5 GB with what they bring along, so that
# nothing but jobs/fashion.sh installs them.
# shellcheck disable=SC2034
embed_packages=(libtorch-dev libopencv-imgcodecs-dev libgdcm-dev)
# For the tests: Boost.Test, the Python references, h5diff, ps, the sources of a comma-decimal locale, and a
# Slurm of several nodes.
# shellcheck disable=SC2034
test_packages=(
    libboost-test-dev hdf5-tools locales procps slurm-wlm munge iproute2
    python3 python3-numpy python3-scipy python3-h5py python3-statsmodels python3-sklearn python3-pandas
)

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# The packages among the arguments that are not installed.
missing_packages() {
    local package
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed* ]] ||
            echo "$package"
    done
}

# Installs what is missing of the packages named; where that cannot be done here, says what to do and stops.
ensure_packages() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        ensure_tools
        return
    fi
    local missing
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]})) || return 0
    local as_root=()
    if ((EUID != 0)); then
        as_root=(sudo)
        if ! command -v sudo >/dev/null; then
            say "these packages are missing; install them as root and run this again:"
            say "    apt-get install ${missing[*]}"
            exit 2
        fi
    fi
    say "installing ${missing[*]}"
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y)
    apt+=(-o Dpkg::Use-Pty=0)
    # The lists of packages may be absent, or older than the mirror: they are fetched only then.
    if "${apt[@]}" install --no-install-recommends --simulate "${missing[@]}" >/dev/null 2>&1; then
        "${apt[@]}" install --no-install-recommends "${missing[@]}" >&2 && return
    fi
    "${apt[@]}" update >&2
    "${apt[@]}" install --no-install-recommends "${missing[@]}" >&2
}

# On a system without apt nothing is installed: programs are looked for, libraries are CMake's to find.
ensure_tools() {
    local tool missing=()
    for tool in cmake ninja g++ pkg-config mpicc mpirun; do
        command -v "$tool" >/dev/null || missing+=("$tool")
    done
    ((${#missing[@]})) || return 0
    say "not found: ${missing[*]}"
    cat >&2 <<'END'
This system has no apt. Load the modules of these, or install them, and run this again:
    CMake 3.25, Ninja, GCC 12 or another C++20 compiler, pkg-config
    Open MPI 4, HDF5 1.10.7 built with it, OpenBLAS
    Boost 1.74 (Program_options, Math; Test for the tests), toml++ 3, xxHash, Random123, libzip, zlib, Highway
    for the tests: Python 3.11 with numpy, scipy, h5py, statsmodels, scikit-learn, pandas
END
    exit 2
}

# Builds target $2 of the preset "release" of the project in $1 into build/release, with further CMake options behind.
build_release() { build_preset release "$@"; }

# The same of preset $1 into build/$1.
build_preset() {
    local preset=$1 top=$2 target=$3
    shift 3
    # By the environment, so that a build folder of another generator stays what it is.
    (cd "$top" && CMAKE_GENERATOR=Ninja cmake --preset "$preset" "$@" && cmake --build --preset "$preset" --target "$target") >&2
}

# mpirun on one machine, as root or not, with more ranks than cores or not, in a container or not.
run_ranks() {
    local ranks=$1
    shift
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none \
        mpirun --oversubscribe --bind-to none -np "$ranks" "$@"
}
