# Help goes to stdout with exit code 0; misuse goes to stderr with exit code 2.
"$SERIN" --help >"$TMP/commands" 2>"$TMP/err"
echo "exit code $?, stderr $(wc -c <"$TMP/err") bytes"
grep -o 'Usage: serin COMMAND' "$TMP/commands"

# Every command that is listed has a usage and an example.
commands=$(sed -n 's/^  \([a-z]*\)  .*/\1/p' "$TMP/commands")
for command in $commands; do
    "$SERIN" $command --help >"$TMP/help" 2>"$TMP/err"
    code=$?
    grep -q "^Usage: serin $command" "$TMP/help" && grep -q "^  serin $command" "$TMP/help" &&
        [ $code = 0 ] && ! [ -s "$TMP/err" ] || echo "$command --help is not what it should be"
done
for command in check dump serve run tokenize export explain; do
    echo "$commands" | grep -qx $command || echo "$command is not listed"
done

for words in "" "nonsense" "check --nonsense" "check" "serve" "dump examples/verses --stage=x" \
    "serve examples/minigpt/minigpt.serin --tokens" "check nowhere.serin"; do
    "$SERIN" $words >"$TMP/out" 2>"$TMP/err"
    echo "serin $words: exit code $?, stdout $(wc -c <"$TMP/out") bytes"
    sed -n 1p "$TMP/err"
done
