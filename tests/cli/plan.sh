# The plan's numbers are those that an exported program allocates, and those of the interpreter, whose
# resident memory is at most the plan and 10 MB.
prompt=$(seq -s' ' 1 60)

# numbers PART: cache_bytes and arena_bytes of a plan's JSON; PART is program or interpreter.
numbers() {
    if [ "$1" = program ]; then sed 's/, "interpreter".*//'; else sed 's/.*"interpreter"://'; fi |
        tr -d ' "{}' | tr ',' '\n' | grep -E '^(cache_bytes|arena_bytes|scratch_bytes|total_bytes):'
}

# served: compares a plan's numbers with the line that serve --memory prints.
served() {
    value() { sed -n "s/^$1:\([0-9]*\)$/\1/p" "$TMP/plan"; }
    printed() { sed -n "s/.*$1 \([0-9]*\) bytes.*/\1/p" "$TMP/memory"; }
    for part in cache arena scratch; do
        [ "$(value ${part}_bytes)" = "$(printed $part)" ] || echo "$part is not as planned"
    done
    [ "$(printed outside)" = 0 ] || echo "the arena was too small"
    over=$(($(printed resident) - $(value total_bytes)))
    [ -n "$SAN" ] || [ $over -le 10000000 ] || echo "$over bytes more than planned"
}
for model in examples/verses tests/data/tiny/gqa tests/data/tiny/llama31; do
    "$SERIN" export "$model" --target c --serve --ctx 64 -o "$TMP/c" 2>"$TMP/err" || cat "$TMP/err"
    make -s -C "$TMP/c" OPT=-O1 || exit
    for chunk in 128 5; do
        "$SERIN" plan "$model" --ctx 64 --rows 2 --chunk $chunk --json | numbers program >"$TMP/plan"
        "$TMP/c/generate" --prompt "$prompt" --prompt "1 2" --tokens 4 --temperature 0 --chunk $chunk \
            --memory 2>"$TMP/err" >"$TMP/ids"
        plan=$(sed -n 's/^cache_bytes:/cache /p; s/^arena_bytes:/bytes, arena /p' "$TMP/plan" | tr '\n' ' ')
        grep -q "^${plan}bytes$" "$TMP/err" && echo "$model, chunks of $chunk: equal" || {
            echo "$model, chunks of $chunk: planned $plan"
            cat "$TMP/err"
        }
    done
    rm -r "$TMP/c"
done
for model in examples/verses tests/data/tiny/gqa tests/data/tiny/llama31; do
    for chunk in 128 5 1; do
        "$SERIN" plan "$model" --ctx 64 --rows 2 --chunk $chunk --threads 2 --json |
            numbers interpreter >"$TMP/plan"
        "$SERIN" serve "$model" --prompt "$prompt" --prompt "1 2" --tokens 4 --chunk $chunk \
            --threads 2 --memory 2>&1 >"$TMP/ids" | grep '^cache' >"$TMP/memory"
        fault=$(served)
        echo "$model, chunks of $chunk, interpreter: ${fault:-equal}"
    done
done
"$SERIN" plan tests/data/tiny/gqa --ctx 64 --threads 2 --json
"$SERIN" plan examples/verses --rows 8 --ctx 256 --threads 2
"$SERIN" plan examples/minigpt/minigpt.serin --threads 2
"$SERIN" plan tests/core/written_cache.serin --rows 2 2>&1
"$SERIN" plan tests/core/written_cache.serin --threads 2
"$SERIN" plan tests/core/written_cache.serin --set MaxSeq=64 --chunk 8 --threads 2 --json
