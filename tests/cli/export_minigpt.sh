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
mkdir "$TMP/other" && touch "$TMP/other/notes"
"$SERIN" export $model --target c --serve -o "$TMP/other"
echo "into a folder of something else: exit code $?"
