# Constants are folded before C is written: no cast of one and no division by 1 is left there, and
# the bits are those of the program as it stands.
cat >"$TMP/constants.serin" <<'EOF'
module constants

block Model {
    param table: Tensor[8, 8; f32]

    entry next<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]) -> Tensor[B, 8; f32]
    where
        S > 0,
        S <= 16
    {
        let scale = rsqrt(cast<f32>(24)) / cast<f32>(1)
        let rounded = cast<f32>(cast<bf16>(1.0045)) + cast<f32>(cast<f16>(0.1))
        let wrapped = cast<f32>(cast<i8>(cast<i32>(200))) / cast<f32>(cast<bool>(3))
        let large = cast<f32>(16777219) + cast<f32>(cast<bf16>(-16909061))
        let x[b, h] = table[tokens[b, S - 1], h] / 1.0
        let summed[b, h] = sum[k] x[b, k] * table[k, h] / 1.0
        let y[b, h] = summed[b, h] * scale + rounded + wrapped + large * 0.001
        return y
    }
}

struct Weights {
    table: Tensor[8, 8; f32]
}

entry weights() -> Weights {
    let y[i, j] = sin(cast<f32>(iota<i64>(8)[i] * 31 + iota<i64>(8)[j] * 7))
    return Weights(table = y)
}

struct Inputs {
    tokens: Tensor[1, 2; i32]
}

entry inputs() -> Inputs {
    let t[b, s] = cast<i32>(iota<i64>(1)[b] + iota<i64>(2)[s] * 3)
    return Inputs(tokens = t)
}

inference serve {
    model = Model
}
EOF
program=$TMP/constants.serin
weights="--weights $TMP/w.safetensors"
"$SERIN" eval "$program" --entry weights -o "$TMP/w.safetensors" || exit
"$SERIN" eval "$program" --entry inputs -o "$TMP/in.safetensors" || exit
# The flags are words to split.
# shellcheck disable=SC2086
"$SERIN" eval "$program" --entry next $weights --inputs "$TMP/in.safetensors" \
    -o "$TMP/y.safetensors" || exit
tail -c 32 "$TMP/y.safetensors" >"$TMP/want"
for flags in '' --fixed; do
    # shellcheck disable=SC2086
    "$SERIN" export "$program" $weights --target c --serve $flags -o "$TMP/c" 2>"$TMP/err" ||
        cat "$TMP/err"
    grep -n '(float)[0-9]\|rt_round_[a-z0-9]*([0-9]\|/ 1\.0f' "$TMP/c/model.c"
    make -s -C "$TMP/c" OPT=-O1 || exit
    "$TMP/c/generate" --prompt '0 3' --tokens 2 --temperature 0 2>"$TMP/err"
    # shellcheck disable=SC2086
    "$SERIN" serve "$program" $weights --prompt '0 3' --tokens 2 --temperature 0 2>"$TMP/err"
done
# shellcheck disable=SC2086
"$SERIN" export "$program" $weights --target c --serve -o "$TMP/c" 2>"$TMP/err" || cat "$TMP/err"
make -s -C "$TMP/c" OPT=-O2 || exit
"$TMP/c/generate" --prompt '0 3' --tokens 1 --logits "$TMP/got" >"$TMP/out" 2>"$TMP/err"
cmp "$TMP/got" "$TMP/want" && echo "the same bits"
