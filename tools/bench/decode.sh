#!/bin/sh
# usage: tools/bench/decode.sh [MODEL [POSITION...] [--set WINDOW=N]]
#
# CPU time for one token of SmolLM2 after 64, 512, 2048 and 4096 others, in the interpreter: what
# grows with the context is attention and nothing else. MODEL is a checkpoint; without one the file
# that tools/demo fetches is taken, and where it is absent nothing is measured (exit code 77).
# BUILD is the build folder, THREADS the number of threads (1).
cd "$(dirname "$0")/../.." || exit 2
BUILD=${BUILD:-build}
model=${1:-build/models/SmolLM2-135M-Instruct.Q4_1.gguf}
[ $# -gt 0 ] && shift
if ! [ -e "$model" ]; then
    echo "tools/bench/decode.sh: there is no $model; run tools/demo, or name a checkpoint" >&2
    exit 77
fi
make -s BUILD="$BUILD" "$BUILD/bench/decode" || exit 1
"$BUILD/bench/decode" "$model" "$@"
