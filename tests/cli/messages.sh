# What is said where something is missing or was not followed: each with what to give instead.
# try COMMAND FLAGS...: the exit code, then stderr.
try() {
    "$SERIN" "$@" >"$TMP/answer" 2>"$TMP/err"
    echo "$* -> $?" | sed "s|$TMP|TMP|g"
    sed "s|$TMP|TMP|g" "$TMP/err"
}

# A hand-written cache without an entry for a whole text.
awk '/B: Dim, S: Dim>.x: Tensor.B, S, Heads/ { out = 1 } !out { print } /^    }$/ { out = 0 }' \
    tests/core/written_cache.serin | awk '
    /pub entry next/ { out = 1 } !out && !/generate = / { print } out && /^    }$/ { out = 0 }' \
    >"$TMP/stepwise.serin"
try check "$TMP/stepwise.serin"
try plan "$TMP/stepwise.serin"
try serve "$TMP/stepwise.serin" --prompt 1 | sed -n 1,2p
try export "$TMP/stepwise.serin" --target c --serve -o "$TMP/c" | sed -n 1,2p
sed 's/kv_cache(MaxSeq)/kv_cache(S)/' "$TMP/stepwise.serin" >"$TMP/misnamed.serin"
try check "$TMP/misnamed.serin"
for edit in 's/decode = decode/decode = prefill/' 's/prefill = prefill/prefill = decode/' \
    's/decode = decode/decode = next/'; do
    sed "$edit" tests/core/written_cache.serin >"$TMP/swapped.serin"
    try check "$TMP/swapped.serin"
done
