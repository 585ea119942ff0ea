# The exported program's command line: what it takes, and what it refuses with the exit codes of
# serve. Its weights lie beside it, wherever it is called from.
cat >"$TMP/make.serin" <<'EOF'
module make

struct Weights {
    table: Tensor[8, 8; f32]
}

entry weights() -> Weights {
    let y[i, j] = sin(cast<f32>(iota<i64>(8)[i] * 31 + iota<i64>(8)[j] * 7))
    return Weights(table = y)
}
EOF
# program RESULT BODY [PARAMETERS]
program() {
    cat <<EOF
module small

use std.nn.decoding::{argmax}

block Model {
    param table: Tensor[8, 8; f32]

    entry next<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]$3) -> $1
    where
        S > 0,
        S <= 16
    {
        let y[b, h] = table[tokens[b, S - 1], h]
        return $2
    }
}

inference serve {
    model = Model
}
EOF
}
"$SERIN" eval "$TMP/make.serin" --entry weights -o "$TMP/w.safetensors" || exit
program 'Tensor[B, 8; f32]' y >"$TMP/logits.serin"
program 'Tensor[B; i32]' 'argmax(y)' >"$TMP/ids.serin"
program 'Tensor[B, 8; f32]' 'y / temperature' ', temperature: f32 = 0.5' >"$TMP/warm.serin"
for name in logits ids warm; do
    "$SERIN" export "$TMP/$name.serin" --weights "$TMP/w.safetensors" --target c --serve \
        -o "$TMP/$name" 2>"$TMP/err" || cat "$TMP/err"
    make -s -C "$TMP/$name" OPT=-O1 \
        CFLAGS='-std=c11 -O1 -ffp-contract=off -Wall -Wextra -Werror' || exit
done

# try PROGRAM FLAGS...: its first lines and exit code, and that of serve.
try() {
    name=$1
    shift
    "$TMP/$name/generate" "$@" >"$TMP/out" 2>"$TMP/err"
    code=$?
    "$SERIN" serve "$TMP/$name.serin" --weights "$TMP/w.safetensors" "$@" >"$TMP/want" 2>"$TMP/told"
    echo "$name $* -> $code, serve $?" | sed "s|$TMP|TMP|g"
    if [ $code = 0 ]; then
        cmp "$TMP/out" "$TMP/want" && sed "s|$TMP|TMP|g" "$TMP/out"
    else
        sed -n 1p "$TMP/err" | sed "s|$TMP|TMP|g"
    fi
}
for name in logits ids; do
    for flags in '--temperature 0' '--temperature=0.9 --seed=3' '--temperature 0.9 --seed 3 --json'; do
        # The flags are words to split.
        # shellcheck disable=SC2086
        try $name --prompt="1 2" --tokens=6 $flags
    done
done
try logits --prompt "1 2" --prompt 3 --tokens 3 --temperature 0
try logits --prompt "1	2" --tokens 3 --temperature 0
# Logits that the entry divides by the temperature are not divided again when a token is drawn.
for temperature in 0.5 3; do
    try warm --prompt "1 2" --tokens 12 --seed 5 --temperature $temperature
    "$SERIN" serve "$TMP/warm.serin" --weights "$TMP/w.safetensors" --prompt "1 2" --tokens 12 \
        --seed 5 --temperature $temperature --whole 2>"$TMP/err"
done
for flags in '--tokens 3 --tokens 3' '--seed=1 --seed 1' '--json --json' '--json=1' '--tokens=' \
    '--tokens' '--logits=' '--unknown=3' '--chunk=0'; do
    # shellcheck disable=SC2086
    try logits --prompt 1 $flags
done
try logits --prompt "1 -1"
try logits --prompt "1 99999999999"
try logits --prompt "1 8"
try logits --prompt "1 x"
"$TMP/logits/generate" --prompt 1 --prompt "1 8" --tokens 3 2>&1
try logits --prompt 1 --ctx=4
"$SERIN" export "$TMP/ids.serin" --weights "$TMP/w.safetensors" --target c --serve --fixed \
    -o "$TMP/fixed" 2>"$TMP/err" || cat "$TMP/err"
make -s -C "$TMP/fixed" OPT=-O1 || exit
for flags in '--chunk 4' '--logits l.bin' '--threads 999' '--weights='; do
    # shellcheck disable=SC2086
    "$TMP/fixed/generate" --prompt 1 $flags 2>&1
done
try logits --prompt 1 --tokens 2 --logits "$TMP/nowhere/logits.bin"

# Found by PATH, by a link, and from elsewhere.
here=$TMP/elsewhere
mkdir "$here" && cd "$here" || exit
ln -s "$TMP/logits/generate" "$here/linked"
for call in "env PATH=$TMP/logits:$PATH generate" "$here/linked" ./linked ../logits/generate; do
    $call --prompt 1 --tokens 3 --temperature 0 2>"$TMP/err" || sed "s|$TMP|TMP|g" "$TMP/err"
done
