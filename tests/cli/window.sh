# A sliding window of 12 positions: the cache holds the window and a chunk, and slides. The ids
# are those of an implementation in float64 that shares nothing with this one (least margin 0.002).
mkdir "$TMP/m" && cp tests/data/tiny/gqa/model.safetensors "$TMP/m" || exit
sed 's/LlamaForCausalLM/MistralForCausalLM/; s/"model_type": *"llama"/"model_type": "mistral", "sliding_window": 12/' \
    tests/data/tiny/gqa/config.json >"$TMP/m/config.json"
grep -c sliding_window "$TMP/m/config.json"
prompt=$(tr -d '\n' <tests/data/tiny/gqa/golden.json | grep -oE '"prompt": \[[0-9, ]*\]' | sed -n '2{s/^[^[]*\[//; s/\]//; s/,//g; p;}')
"$SERIN" serve "$TMP/m" --prompt "$prompt" --tokens 60 --temperature 0 --chunk 5
for flags in --whole '--chunk 1' '--chunk 128'; do
    for more in '--temperature 0' '--temperature 0.9 --seed 5'; do
        "$SERIN" serve "$TMP/m" --prompt "$prompt" --tokens 60 $more --chunk 5 >"$TMP/a"
        "$SERIN" serve "$TMP/m" --prompt "$prompt" --tokens 60 $more $flags >"$TMP/b"
        cmp "$TMP/a" "$TMP/b" && echo "$flags $more: equal"
    done
done
"$SERIN" serve "$TMP/m" --prompt "$prompt" --prompt "51 15 59 23 47" --tokens 60 --temperature 0 --chunk 7
"$SERIN" check "$TMP/m" | grep -A1 'cache  '
# The exported program's cache slides too, and holds what the plan says.
"$SERIN" export "$TMP/m" --target c --serve --ctx 160 -o "$TMP/c" 2>"$TMP/err" || cat "$TMP/err"
make -s -C "$TMP/c" OPT='-O1 -fsanitize=address,undefined -fno-sanitize-recover=all' || exit
set --
for i in 1 2 3 4 5 6 7 8 9 10 11; do
    set -- "$@" --prompt "$(seq -s' ' "$i" $((3 * i + i * i / 3)))"
done
"$SERIN" serve "$TMP/m" --whole --tokens 40 --temperature 0.8 "$@" --logits "$TMP/la" >"$TMP/a"
wc -l <"$TMP/a" && wc -c <"$TMP/la"
for chunk in 1 5 21 22 128; do
    "$SERIN" serve "$TMP/m" --rows 3 --tokens 40 --temperature 0.8 --chunk $chunk "$@" \
        --logits "$TMP/lb" >"$TMP/b"
    "$TMP/c/generate" --tokens 40 --temperature 0.8 --chunk $chunk "$@" \
        --logits "$TMP/lc" >"$TMP/c.ids"
    cmp "$TMP/a" "$TMP/b" && cmp "$TMP/a" "$TMP/c.ids" && cmp "$TMP/la" "$TMP/lb" &&
        cmp "$TMP/la" "$TMP/lc" && echo "11 texts, chunks of $chunk: equal"
    "$TMP/c/generate" --prompt "$prompt" --tokens 60 --chunk $chunk --memory 2>&1 >"$TMP/b" |
        sed -n 's/cache \([0-9]*\) bytes.*/the cache: \1/p'
    "$SERIN" plan "$TMP/m" --ctx 160 --chunk $chunk | grep cache
done
# In bf16, whose sums go in pairs, windows of odd and of even length.
mkdir "$TMP/v" && cp examples/verses/model.safetensors "$TMP/v" || exit
for window in 9 10 32; do
    sed 's/LlamaForCausalLM/MistralForCausalLM/; s/"model_type": *"llama"/"model_type": "mistral", "sliding_window": '$window'/' \
        examples/verses/config.json >"$TMP/v/config.json"
    rm -rf "$TMP/c"
    "$SERIN" export "$TMP/v" --target c --serve --ctx 128 -o "$TMP/c" 2>"$TMP/err" || cat "$TMP/err"
    make -s -C "$TMP/c" OPT=-O1 || exit
    for prompt in "$(seq -s' ' 40 79)" "$(seq -s' ' 40 80)"; do
        "$SERIN" serve "$TMP/v" --whole --prompt "$prompt" --tokens 30 --temperature 0.8 \
            --logits "$TMP/la" >"$TMP/a"
        cat "$TMP/a"
        for chunk in 1 7 24; do
            "$SERIN" serve "$TMP/v" --prompt "$prompt" --tokens 30 --temperature 0.8 \
                --chunk $chunk --logits "$TMP/lb" >"$TMP/b"
            "$TMP/c/generate" --prompt "$prompt" --tokens 30 --temperature 0.8 \
                --chunk $chunk --logits "$TMP/lc" >"$TMP/d"
            cmp "$TMP/a" "$TMP/b" && cmp "$TMP/a" "$TMP/d" && cmp "$TMP/la" "$TMP/lb" &&
                cmp "$TMP/la" "$TMP/lc" && echo "bf16, a window of $window, chunks of $chunk: equal"
        done
    done
    "$SERIN" plan "$TMP/v" --ctx 128 --chunk 1 | grep cache
done
