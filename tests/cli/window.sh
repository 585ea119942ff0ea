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
# A text read into a row by session_prefill, while another row is far along.
cat >"$TMP/c/user.c" <<'END'
#include "model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool step(Session *s, int32_t a, int32_t i, int32_t b, int32_t j, float *out) {
    int32_t tokens[2] = {a, b}, pos[2] = {i, j}, count[2] = {1, 1};
    return session_step(s, 1, tokens, pos, count, out);
}

int main(void) {
    char error[400];
    static float x[2 * MODEL_VOCAB], y[2 * MODEL_VOCAB];
    int32_t text[70];
    ModelFile *file = model_open("weights.bin", error, sizeof error);
    Session *s = file ? session_new(file, 2, 100, 7, 1) : NULL;
    Session *t = file ? session_new(file, 2, 100, 1, 1) : NULL;
    bool good = s && t;
    for (int32_t i = 0; i < 70; i++)
        text[i] = (5 * i + 3) % MODEL_VOCAB;
    for (int32_t i = 0; good && i < 50; i++)
        good = step(s, 1, i, (3 * i) % MODEL_VOCAB, i, x);
    good = good && session_prefill(s, 0, text, 70, x) && step(s, 8, 70, 9, 50, x);
    for (int32_t i = 0; good && i < 71; i++)
        good = step(t, i < 70 ? text[i] : 8, i, i < 50 ? (3 * i) % MODEL_VOCAB : 9,
                    i < 50 ? i : 50, y);
    good = good && memcmp(x, y, MODEL_VOCAB * sizeof(float)) == 0;
    good = good && !step(s, 1, 20, 1, 51, x);
    session_clear(s, 0);
    good = good && !step(s, 1, 80, 1, 51, x);
    puts(good ? "a prefill beside a row: equal" : "differs");
    session_free(s);
    session_free(t);
    model_close(file);
    return 0;
}
END
(cd "$TMP/c" && cc -std=c11 -g -fsanitize=address,undefined user.c libmodel.a -lpthread -lm -o user && ./user)
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
