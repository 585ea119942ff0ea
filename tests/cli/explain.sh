# Every code of the table can be explained, in any case; an unknown one is misuse.
"$SERIN" explain E2101
"$SERIN" explain e1101 >/dev/null && echo "lower case is fine"
"$SERIN" explain E9999
echo "unknown: exit code $?"
for code in $(grep -o '^DIAG([EW][0-9]*' compiler/base/diag.def | cut -c 6-); do
    "$SERIN" explain "$code" | grep -q "$code" || echo "$code is not explained"
done
