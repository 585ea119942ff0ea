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

# --ctx where the model has a bound of its own, and where a window slides.
try plan examples/verses --ctx 100000
try plan tests/core/written_cache.serin --ctx 100
try check examples/minigpt/minigpt.serin --ctx 4
try check examples/minigpt/minigpt.serin --ctx 8
try serve examples/verses --prompt 1 --ctx 1000000000000
try plan examples/verses --chunk 0
try plan examples/verses --chunk 65537
try plan examples/verses --rows 99999999999999999999
sed 's/Dim = 16/Dim = 3000000000/' tests/core/written_cache.serin >"$TMP/long.serin"
try plan "$TMP/long.serin"

# Which of several prompts.
printf '1 2\n\n3 9999\n' >"$TMP/prompts"
try serve examples/verses --prompts "$TMP/prompts"
printf '1 2\n3 x\n' >"$TMP/prompts"
try serve examples/verses --prompts "$TMP/prompts"
try serve examples/verses --prompt 1 --prompt 9999
try serve examples/verses --prompt 1 --prompt "2 x"
try serve examples/verses --prompt 1 --prompt "2 3" --ctx 2 --tokens 1
try serve examples/verses --prompt 9999
try serve examples/minigpt/minigpt.serin --prompt "1 2 3 4 5 6 7 8" --prompt "1 2"

# What the command line sets stands where it shows, and where it may be the reason.
"$SERIN" check examples/verses --set WINDOW=512 | grep 'WINDOW\|HeadDim\|cache  '
"$SERIN" check examples/verses --dim Layers=5 | grep Layers
try check examples/verses --set WINDOW=-5
try check examples/verses --set WINDOW=abc

# No program.
for command in check plan fmt; do
    try "$command" examples/verses/model.safetensors
done
try dump --stage=ast examples/verses/model.safetensors
try serve "$SERIN" --prompt 1 | sed "s|$SERIN|SERIN|"

# The proof: nothing to prove; the condition of W3305 is that of the step it names.
cat >"$TMP/last.serin" <<'END'
module last

block Model {
    param table: Tensor[8, 8; f32]

    pub entry next<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]) -> Tensor[B, 8; f32]
    where S > 0 {
        let y[b, v] = table[tokens[b, S - 1], v]
        return y
    }
}

inference serve {
    model = Model
}
END
try check "$TMP/last.serin" --prove
cat "$TMP/answer"
try check spec/errors/W3305.bad.serin

# Weights that are not there.
sed 's|model = Model|weights = "nowhere.safetensors" model = Model|' "$TMP/last.serin" | tr '\n' '~' |
    sed 's/" model/"~    model/' | tr '~' '\n' >"$TMP/absent.serin"
try check "$TMP/absent.serin"
"$SERIN" check "$TMP/absent.serin" --summary 2>"$TMP/err" | sed -n "s|$TMP|TMP|;/weights/p"
