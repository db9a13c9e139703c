#!/usr/bin/env bash
# From images to a report: installs what is missing (libtorch, OpenCV, PyTorch and torchvision among it: 1.5 GB), builds
# candor with embed, makes the table, boxes and encoders of inputs/fashion from Debian's copy of Fashion-MNIST, then
# embeds, runs and reports on MPI ranks. Ended before its time, the same command goes on where it was.
#   usage: jobs/fashion.sh [FOLDER]      results go to FOLDER (default: build/fashion)
#   CANDOR_RANKS: MPI ranks (default: one a processor)    CANDOR_TRAIN_IMAGES: training images embedded (default: 60000)
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=setup.bash
source "$top/jobs/setup.bash"

out=${1:-$top/build/fashion}
candor=$top/build/embed/candor
ranks=${CANDOR_RANKS:-$(nproc)}
# Debian's interpreter has Debian's PyTorch.
python=/usr/bin/python3
[[ -x $python ]] || python=python3

ensure_packages "${build_packages[@]}" "${embed_packages[@]}" dataset-fashion-mnist \
    python3 python3-numpy python3-torch python3-torchvision
options=()
[[ -f $top/build/embed/CMakeCache.txt ]] || options=(-DCANDOR_TESTS=OFF)
build_preset embed "$top" candor "${options[@]}"

mkdir -p "$out"
inputs=$top/inputs/fashion
cp "$inputs/study.toml" "$inputs/embed.toml" "$out/"
say "making table and boxes"
"$python" -B "$inputs/make_tables.py" "$out" --train "${CANDOR_TRAIN_IMAGES:-60000}"
if [[ ! -f $out/encoders/convnet.pt ]]; then # which the script writes last
    say "making encoders; one of them is trained, which takes some minutes"
    "$python" -B "$inputs/make_encoders.py" "$out/encoders" >&2
fi
run_ranks "$ranks" "$candor" embed "$out/embed.toml"
run_ranks "$ranks" "$candor" run "$out/study.toml" -o "$out/fashion.h5"
"$candor" report "$out/fashion.h5" -o "$out/report" --overwrite
"$candor" show "$out/fashion.h5"
echo "The report: $out/report/index.html"
