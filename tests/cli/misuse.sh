# Odd values of flags, weights of another model, output that can't be written, damaged files: each is
# refused with a message that names it, by the interpreter and by an exported program alike.
model=examples/verses
try() {
    "$@" >"$TMP/out" 2>"$TMP/err"
    code=$?
    shift
    echo "$* -> $code" | sed "s|$TMP|TMP|g"
    [ $code = 0 ] && sed -n 1p "$TMP/out" && return
    sed -n 1p "$TMP/err" | sed "s|$TMP|TMP|g"
}

for flags in '--seed 18446744073709551615' '--seed 18446744073709551616' '--seed -1' \
    '--temperature 1e39' '--temperature 1e-46' '--temperature nan' '--chunk 0' '--chunk 65537' \
    '--tokens 4' '--threads 257' '--ctx 0' '--seed 1 --seed 1' '--dim Layers=5 --set Layers=5' \
    '--dim Heads=9223372036854775808' '--dim Heads=+6' \
    '--weights examples/verses/model.safetensors'; do
    try "$SERIN" serve $model --prompt "1 2" --tokens 3 $flags
done
try "$SERIN" serve $model --prompt "1 2" --tokens 16777217
try "$SERIN" serve $model --prompt "1 2" --weights ""
try "$SERIN" serve $model --prompt "1 99999999999 2"
try "$SERIN" run $model text --top-p 1.5
try "$SERIN" run $model text --top-k 2147483648
try "$SERIN" plan $model --rows 65537
for weights in nowhere examples/verses/model.safetensors tests /dev/null; do
    try "$SERIN" check examples/minigpt/minigpt.serin --weights $weights
done
try "$SERIN" check tests
try "$SERIN" inspect $model --block Nothing
try "$SERIN" eval $model --entry forward --inputs nowhere --print
echo "no GGUF" >"$TMP/model.gguf"
try "$SERIN" check "$TMP/model.gguf"

"$SERIN" export $model --target c --serve --ctx 16 -o "$TMP/c" 2>"$TMP/err" || cat "$TMP/err"
make -s -C "$TMP/c" OPT=-O0 || exit
for flags in '--seed 18446744073709551615' '--seed 18446744073709551616' '--temperature 1e39' \
    '--temperature 1e-46' '--weights examples/verses/model.safetensors'; do
    try "$TMP/c/generate" --prompt "1 2" --tokens 3 $flags
done
# One bit in the middle of the weights.
printf '\001' | dd of="$TMP/c/weights.bin" bs=1 seek=1000000 conv=notrunc 2>"$TMP/err"
try "$TMP/c/generate" --prompt "1 2" --tokens 3

[ -c /dev/full ] || { echo "there is no /dev/full" >&2 && exit 77; }
for words in --help --version 'check --help' 'explain --all' "dump $model --stage=core" \
    "serve $model --prompt 1 --tokens 1" "run $model text --tokens 1"; do
    "$SERIN" $words >/dev/full 2>"$TMP/err"
    echo "serin $words: exit code $?"
done
