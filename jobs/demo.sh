#!/usr/bin/env bash
# From a fresh clone to the tables of a study on real data: installs what is missing, builds candor, runs
# inputs/wdbc on two MPI ranks and shows the results.
#   usage: jobs/demo.sh [FOLDER]      results go to FOLDER (default: build/demo)
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=setup.bash
source "$top/jobs/setup.bash"

out=${1:-$top/build/demo}
candor=$top/build/release/candor

ensure_packages "${build_packages[@]}"
# A first build does without the tests; one that is there already stays as it is.
options=()
[[ -f $top/build/release/CMakeCache.txt ]] || options=(-DCANDOR_TESTS=OFF)
build_release "$top" candor "${options[@]}"

mkdir -p "$out"
rm -rf "$out/wdbc.h5" "$out/wdbc.h5.journal"
run_ranks 2 "$candor" run "$top/inputs/wdbc/study.toml" -o "$out/wdbc.h5"

show() {
    printf '\n$ candor show %s\n' "$*"
    (cd "$out" && "$candor" show "$@")
}
show wdbc.h5
show wdbc.h5 findings --columns encoder,finding,queries,d,d_low,d_high,margin_auroc,p,q
# How much of D each candidate rule adds: unequal banks make the common label look near.
show wdbc.h5 rules --where level=task --columns encoder,rule,n,queries,discordant,d,d_low,d_high
