#!/usr/bin/env bash
# Every test, from a fresh clone: installs what is missing, builds candor and its tests, runs them with ctest.
#   usage: tests/run.sh [CTEST OPTIONS]      e.g. tests/run.sh -R study
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../jobs/setup.bash
source "$top/jobs/setup.bash"

ensure_packages "${build_packages[@]}" "${test_packages[@]}"
build_release "$top" all -DCANDOR_TESTS=ON
# Open MPI looks the machine's name up at every start, which takes 5 s each where no name server answers.
export RES_OPTIONS=${RES_OPTIONS:-timeout:1 attempts:1}
# One more than there are processors: many tests wait for a launcher, or for Slurm, most of the time.
ctest --test-dir "$top/build/release" --output-on-failure -j "$(($(nproc) + 1))" "$@"
