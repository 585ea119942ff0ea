# A checkpoint: text in, ids out, and an exported program that prints the same ids.
model=examples/verses
ids=$("$SERIN" tokenize $model 'And the LORD said') && echo "$ids"
"$SERIN" tokenize $model --decode "$ids"
"$SERIN" run $model 'And the LORD said' --tokens 24 --temperature 0
"$SERIN" run $model 'In the beginning' --tokens 24 --temperature 0.8 --top-p 1 --seed 3
"$SERIN" export $model --target c --serve --ctx 64 -o "$TMP/c" || exit
make -s -C "$TMP/c" || exit
for flags in '--temperature 0' '--temperature 0.8 --seed 3' '--json --temperature 0'; do
    "$SERIN" serve $model --ctx 64 --prompt "$ids" --tokens 24 $flags >"$TMP/want"
    "$TMP/c/generate" --prompt "$ids" --tokens 24 $flags >"$TMP/got"
    cat "$TMP/got"
    cmp "$TMP/want" "$TMP/got" && echo "$flags: equal"
done
