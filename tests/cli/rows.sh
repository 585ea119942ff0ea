# Rows come and go: more prompts than rows, each with the ids that it gets alone.
model=examples/verses
cat >"$TMP/prompts" <<'END'
320 369 12
1 2 3 4 5

7
20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
320 369 12 99 100
90 91 92 93 94 95 96 97 98 99 100 101 102
44 5
END
grep . "$TMP/prompts" >"$TMP/texts"
set --
while read -r text; do
    set -- "$@" --prompt "$text"
done <"$TMP/texts"
for flags in '--temperature 0' '--temperature 0.9 --seed 4'; do
    # The flags are words to split.
    # shellcheck disable=SC2086
    while read -r text; do
        "$SERIN" serve $model --prompt "$text" --tokens 12 $flags --whole
    done <"$TMP/texts" >"$TMP/alone"
    cat "$TMP/alone"
    for rows in 1 2 3 7 100; do
        # shellcheck disable=SC2086
        "$SERIN" serve $model "$@" --tokens 12 $flags --rows $rows --chunk 9 >"$TMP/rows"
        cmp "$TMP/alone" "$TMP/rows" && echo "$flags, $rows rows: equal"
    done
    # shellcheck disable=SC2086
    "$SERIN" serve $model --prompts "$TMP/prompts" --tokens 12 $flags --rows 2 >"$TMP/rows"
    cmp "$TMP/alone" "$TMP/rows" && echo "$flags, from a file: equal"
done
# What batching allows is what runs at once: 8 bytes a token and row here.
cat >"$TMP/make.serin" <<'END'
module make

struct Weights {
    table: Tensor[9, 2; f32]
}

entry weights() -> Weights {
    let y[i, j] = sin(cast<f32>(iota<i64>(9)[i] * 31 + iota<i64>(2)[j] * 7))
    return Weights(table = y)
}
END
cat >"$TMP/mean.serin" <<'END'
module mean

block Mean {
    param table: Tensor[9, 2; f32]

    entry next<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]) -> Tensor[B, S, 9; f32]
    where S <= 64 {
        let x[b, s, d] = table[tokens[b, s], d]
        let at = iota<i64>(S)
        let y[b, i, d] = sum[j] select(at[j] <= at[i], x[b, j, d], 0.0)
        let logits[b, s, v] = sum[d] y[b, s, d] * table[v, d]
        return logits
    }
}

inference serve {
    model = Mean
    generate = next
    batching = dynamic(max_batch = 2)
}
END
"$SERIN" eval "$TMP/make.serin" --entry weights -o "$TMP/w.safetensors" || exit
mean() { "$SERIN" serve "$TMP/mean.serin" --weights "$TMP/w.safetensors" "$@"; }
mean --prompt 1 --prompt "2 3 4" --prompt "5 6" --prompt 7 --prompt "8 0 8 0" --tokens 9
mean --prompt 1 --prompt "2 3 4" --prompt "5 6" --prompt 7 --prompt "8 0 8 0" --tokens 9 --whole
mean --prompt 1 --prompt 2 --rows 3 2>&1 | sed "s|$TMP|TMP|g"
try() { "$SERIN" serve "$@" 2>&1 | sed "s|$TMP|TMP|g"; }
try $model --prompt "1 2" --rows 65537
try $model --prompts "$TMP/none"
printf '1 2\r\n3 x\n' >"$TMP/bad"
try $model --prompts "$TMP/bad"
printf '1 2\n3 \0 4\n' >"$TMP/bad"
try $model --prompts "$TMP/bad"
printf ' \n\n' >"$TMP/bad"
try $model --prompts "$TMP/bad"
