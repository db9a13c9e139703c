#!/usr/bin/env bash
# From a fresh clone to the tables of a study on real data: installs what is missing, builds candor, runs
# inputs/wdbc on two MPI ranks and shows the results.
#   usage: jobs/demo.sh [FOLDER]      results go to FOLDER (default: build/demo)
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=jobs/setup.sh
source "$top/jobs/setup.sh"

out=${1:-$top/build/demo}
candor=$top/build/release/candor

ensure_packages "${build_packages[@]}"
build_release "$top" -DCANDOR_TESTS=OFF

mkdir -p "$out"
rm -rf "$out/wdbc.h5" "$out/wdbc.h5.journal"
run_ranks 2 "$candor" run "$top/inputs/wdbc/study.toml" -o "$out/wdbc.h5"

"$candor" show "$out/wdbc.h5"
for table in rules findings; do
    printf '\n%s\n' "candor show ${out#"$PWD/"}/wdbc.h5 $table"
    "$candor" show "$out/wdbc.h5" "$table"
done
