# The exported program prints the bytes that serin serve prints, and builds without a warning.
model=examples/minigpt/minigpt.serin
"$SERIN" export $model --target c --serve -o "$TMP/c" || exit
for file in Makefile README.md generate.c model.c model.h weights.bin; do
    [ -s "$TMP/c/$file" ] || echo "there is no $file"
done
make -s -C "$TMP/c" CFLAGS="-std=c11 -O2 -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Werror" || exit
for flags in '--temperature 0' '--temperature 0 --threads 1' '--temperature 0.8 --seed 7' \
    '--json --temperature 0' '--seed 3'; do
    for prompt in '1 2 3 4 5 6 7 8' '9 9 9 9 9 9 9 9 9 9'; do
        "$SERIN" serve $model --prompt "$prompt" --tokens 12 $flags >"$TMP/want"
        "$TMP/c/generate" --prompt "$prompt" --tokens 12 $flags >"$TMP/got"
        cmp "$TMP/want" "$TMP/got" && echo "$flags, prompt $prompt: equal, $(wc -c <"$TMP/got") bytes"
    done
done
"$SERIN" export $model --target c --serve -o "$TMP/again"
diff -r -x "*.o" -x "*.a" -x generate "$TMP/c" "$TMP/again" && echo "twice the same bytes"
# An earlier export is overwritten as long as nobody edited it.
"$SERIN" export $model --target c --serve -o "$TMP/again"
echo "the same folder again: exit code $?"
echo "// mine" >>"$TMP/again/generate.c"
"$SERIN" export $model --target c --serve -o "$TMP/again" 2>"$TMP/err"
echo "an edited file: exit code $?"
sed "s|$TMP|TMP|g" "$TMP/err"
tail -n 1 "$TMP/again/generate.c"
"$SERIN" export $model --target c --serve --force -o "$TMP/again"
echo "with --force: exit code $?"
diff -r -x "*.o" -x "*.a" -x generate "$TMP/c" "$TMP/again" && echo "the same bytes"
for flags in '' '--target c' '--target c --serve' '--serve -o new' '--target c -o new'; do
    # The flags are words to split.
    # shellcheck disable=SC2086
    "$SERIN" export $model $flags 2>&1
done
"$SERIN" export --target c --serve -o new 2>&1
"$SERIN" export $model $model --target c --serve -o new 2>&1
mkdir "$TMP/other" && touch "$TMP/other/notes"
"$SERIN" export $model --target c --serve -o "$TMP/other"
echo "into a folder of something else: exit code $?"
