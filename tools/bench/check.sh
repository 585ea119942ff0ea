#!/bin/bash
# usage: tools/bench/check.sh [PACKAGE]    what checking costs
#
# CPU time of serin check, the mean of 20 runs: of the library's Llama, of a package (default: the
# one the tests have), and of generated programs of 50,000 and 100,000 lines: the second should take
# twice as long as the first.
cd "$(dirname "$0")/../.." || exit 2
serin=${SERIN:-build/serin} package=${1:-tests/packages/decoder}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
TIMEFORMAT='%U %S'

# measure RUNS PATH: milliseconds of CPU a run.
measure() {
    "$serin" check "$2" >/dev/null 2>"$work/err" || { cat "$work/err" && exit 1; }
    { time for _ in $(seq "$1"); do "$serin" check "$2" >/dev/null 2>&1; done; } \
        2>"$work/time"
    awk -v runs="$1" -v path="$2" \
        '{ printf "%8.1f ms  %s\n", ($1 + $2) * 1000 / runs, path }' "$work/time"
}

generate() {
    echo "module big"
    for i in $(seq "$1"); do
        cat <<END
pub fn g$i<B: Dim, H: Dim>(x: Tensor[B, H; f32], w: Tensor[H, H; f32]) -> Tensor[B, H; f32]
where H > 0 {
    let y[b, h] = sum[k] x[b, k] * w[h, k]
    let z = y * 2.0 + x
    return z
}

END
    done
}

measure 20 stdlib/models/llama.serin
measure 20 "$package"
generate 7150 >"$work/50000.serin"
generate 14300 >"$work/100000.serin"
measure 3 "$work/50000.serin"
measure 3 "$work/100000.serin"
