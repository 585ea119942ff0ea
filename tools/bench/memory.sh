#!/bin/sh
# usage: tools/bench/memory.sh [MODEL]
#
# What serin plan says of SmolLM2 in the interpreter, and the resident size that a run reaches: a
# prompt of 632 tokens and 24 more, in chunks of 1, 128 and 512, in one row and in four. Ends with 1
# where more than 10 MB come on top. MODEL is a checkpoint; without one the file that tools/demo
# fetches is taken, and where it is absent nothing is measured (exit code 77).
cd "$(dirname "$0")/../.." || exit 2
BUILD=${BUILD:-build}
model=${1:-build/models/SmolLM2-135M-Instruct.Q4_1.gguf}
if ! [ -e "$model" ]; then
    echo "tools/bench/memory.sh: there is no $model; run tools/demo, or name a checkpoint" >&2
    exit 77
fi
prompt=$(seq -s' ' 1000 1631)
code=0
printf '%5s %4s %15s %15s %12s\n' chunk rows planned resident more
for rows in 1 4; do
    for chunk in 1 128 512; do
        [ $rows = 4 ] && [ $chunk = 1 ] && continue
        plan=$("$BUILD/serin" plan "$model" --ctx 656 --rows $rows --chunk $chunk --json |
            sed 's/.*"interpreter"//')
        total=$(echo "$plan" | sed 's/.*"total_bytes": \([0-9]*\).*/\1/')
        kept=$(echo "$plan" | sed 's/.*"tokenizer_bytes": \([0-9]*\).*/\1/') # not of serin serve
        set --
        for _ in $(seq $rows); do set -- "$@" --prompt "$prompt"; done
        resident=$("$BUILD/serin" serve "$model" "$@" --tokens 24 --temperature 0 --chunk $chunk \
            --memory 2>&1 >/dev/null | sed -n 's/.*resident \([0-9]*\) bytes.*/\1/p')
        more=$((resident - total + kept))
        printf '%5d %4d %15d %15d %12d\n' $chunk $rows $((total - kept)) "$resident" $more
        [ $more -le 10000000 ] || code=1
    done
done
exit $code
