# The logits of every row's last token: from the cache in chunks of any size, from the whole
# context, alone and in a batch, interpreted and as C, are the same bits.
command -v clang >/dev/null || { echo "clang is not installed" >&2 && exit 77; }
below() { seq "$2" "$3" "$4" | while read -r id; do printf '%d ' $((id % $1)); done; }

# rows COMMAND...: eight prompts of different lengths; ids and logits go to $TMP/now.*
rows() {
    "$@" --prompt "$one" --prompt "$two" --prompt "$three" --prompt "$(below $vocab 7 1 13)" \
        --prompt "$(below $vocab 1 3 40)" --prompt 5 --prompt "$(below $vocab 2 1 33)" \
        --prompt "$(below $vocab 50 1 59)" --tokens 5 --logits "$TMP/now.logits" \
        >"$TMP/now.ids" 2>"$TMP/err" || cat "$TMP/err"
}

# same WHAT COMMAND...: does it give what is in $TMP/want.*?
same() {
    what=$1 && shift
    rm -f "$TMP"/now.*
    rows "$@"
    cmp "$TMP/want.ids" "$TMP/now.ids" && cmp "$TMP/want.logits" "$TMP/now.logits" || echo "$what: differs"
}

# build CC OPT: the exported program.
build() { make -s -C "$TMP/c" clean && make -s -C "$TMP/c" CC="$1" OPT="$2" || exit; }

interpreted() {
    same "chunks of 1" "$SERIN" serve $model $how --chunk 1
    same "chunks of 3" "$SERIN" serve $model $how --chunk 3
    same "chunks of 32" "$SERIN" serve $model $how --chunk 32
    same "chunks of 512" "$SERIN" serve $model $how --chunk 512
    for count in 2 5 7; do
        same "$count rows" "$SERIN" serve $model $how --rows $count --chunk 4
    done
    same "the whole context" "$SERIN" serve $model $how --whole
}

alone() {
    for prompt in "$one" "$two" "$three"; do
        "$TMP/c/generate" --prompt "$prompt" --tokens 5 $how --logits "$TMP/one" 2>/dev/null >>"$TMP/alone.ids"
        cat "$TMP/one" >>"$TMP/alone.logits"
    done
    head -n 3 "$TMP/want.ids" >"$TMP/three.ids"
    head -c "$(wc -c <"$TMP/alone.logits")" "$TMP/want.logits" >"$TMP/three.logits"
    cmp "$TMP/three.ids" "$TMP/alone.ids" && cmp "$TMP/three.logits" "$TMP/alone.logits" || echo "alone: differs"
    rm "$TMP"/alone.*
}

exported() {
    same "C" "$TMP/c/generate" $how
    same "C, chunks of 1" "$TMP/c/generate" $how --chunk 1
    same "C, chunks of 512" "$TMP/c/generate" $how --chunk 512
    same "C, 1 thread" "$TMP/c/generate" $how --threads 1
    same "C, 2 threads, chunks of 5" "$TMP/c/generate" $how --threads 2 --chunk 5
    for simd in portable avx2 avx512; do
        SERIN_SIMD=$simd same "C, $simd" "$TMP/c/generate" $how --chunk 32
    done
}

for model in examples/verses tests/data/tiny/gqa tests/data/tiny/llama3 tests/data/tiny/llama31 \
    tests/data/tiny/single tests/data/tiny/tied; do
    "$SERIN" export $model --target c --serve --ctx 64 -o "$TMP/c" 2>"$TMP/err" || cat "$TMP/err"
    build gcc -O1
    vocab=90 && [ $model = tests/data/tiny/single ] && vocab=7
    one=$(below $vocab 20 1 52) two=$(below $vocab 4 1 4) three=$(below $vocab 3 2 25)
    for how in '--temperature 0' '--temperature 0.8 --seed 3'; do
        rows "$SERIN" serve $model $how
        mv "$TMP/now.ids" "$TMP/want.ids" && mv "$TMP/now.logits" "$TMP/want.logits"
        echo "$model $how: $(wc -l <"$TMP/want.ids") rows"
        interpreted
        exported
        alone
    done
    if [ $model = examples/verses ]; then
        for compiler in 'gcc -O0' 'gcc -O3' 'clang -O3'; do
            build ${compiler% *} ${compiler#* }
            exported
        done
    fi
    rm -r "$TMP/c"
done
