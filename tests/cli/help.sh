# Help goes to stdout with exit code 0; misuse goes to stderr with exit code 2.
"$SERIN" --help
for command in check dump serve run tokenize export explain fmt lsp; do
    "$SERIN" $command --help >"$TMP/help" 2>"$TMP/err"
    echo "$command --help: exit code $?, stderr $(wc -c <"$TMP/err") bytes, $(grep -c "serin $command" "$TMP/help") examples"
done
for words in "" "nonsense" "check --nonsense" "check" "serve" "dump examples/verses --stage=x" \
    "serve examples/minigpt/minigpt.serin --tokens" "check nowhere.serin"; do
    "$SERIN" $words >"$TMP/out" 2>"$TMP/err"
    echo "serin $words: exit code $?, stdout $(wc -c <"$TMP/out") bytes"
    sed -n 1p "$TMP/err"
done
