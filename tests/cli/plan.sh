# The plan's numbers are those that an exported program allocates.
prompt=$(seq -s' ' 1 60)
numbers() { tr -d ' "{}' | tr ',' '\n' | grep -E '^(cache_bytes|arena_bytes|cache_bytes_per_token):'; }
for model in examples/verses tests/data/tiny/gqa tests/data/tiny/llama31; do
    "$SERIN" export "$model" --target c --serve --ctx 64 -o "$TMP/c" 2>"$TMP/err" || cat "$TMP/err"
    make -s -C "$TMP/c" OPT=-O1 || exit
    for chunk in 128 5; do
        "$SERIN" plan "$model" --ctx 64 --rows 2 --chunk $chunk --json | numbers >"$TMP/plan"
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
"$SERIN" plan examples/verses --rows 8 --ctx 256
"$SERIN" plan examples/minigpt/minigpt.serin
"$SERIN" plan tests/core/written_cache.serin --rows 2 2>&1
"$SERIN" plan tests/core/written_cache.serin
"$SERIN" plan tests/core/written_cache.serin --set MaxSeq=64 --chunk 8 --json
