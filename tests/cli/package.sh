# A package with a card and bindings: its weights are in two files, under names of their own.
mkdir -p "$TMP/pkg/src" "$TMP/made"
cat >"$TMP/make.serin" <<'END'
module make

struct Weight<N: Dim, M: Dim> {
    w: Tensor[N, M; f32]
}

struct First {
    table: Weight<7, 4>
    h0: Weight<4, 4>
}

struct Second {
    h1: Weight<4, 4>
    h2: Weight<4, 4>
    head: Weight<7, 4>
}

fn numbers<N: Dim, M: Dim>(seed: f32) -> Weight<N, M> {
    let y[i, j] = sin(seed + cast<f32>(iota<i64>(N)[i] * 31 + iota<i64>(M)[j] * 7))
    return Weight(w = y)
}

entry first() -> First {
    return First(table = numbers<7, 4>(1.0), h0 = numbers<4, 4>(2.0))
}

entry second() -> Second {
    return Second(
        h1 = numbers<4, 4>(3.0),
        h2 = numbers<4, 4>(4.0),
        head = numbers<7, 4>(5.0),
    )
}
END
cat >"$TMP/pkg/src/lib.serin" <<'END'
module small

use std.nn.embedding::{Embedding}
use std.nn.linear::{Linear}

// The share of what a layer adds.
pub const SHARE: f32 = 1.0

pub block Small<V: Dim, H: Dim, Layers: Dim, Kept: Dim = 8>
where
    V > 0,
    H % 2 == 0,
    Kept > 0
{
    sub embed: Embedding<V, H, f32>
    sub layers: [Linear<H, H, f32>; Layers]
    sub head: Linear<H, V, f32>
    state seen: Tensor[Kept, H; f32]

    pub entry forward<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]) -> Tensor[B, S, V; f32]
    where S <= 32 {
        var x = embed.forward(tokens)
        static for layer in layers {
            x = x + tanh(layer.forward(x)) * SHARE
        }
        return head.forward(x)
    }

    pub entry keep(x: Tensor[Kept, H; f32]) -> Tensor[Kept, H; f32] {
        seen = seen + x
        return seen
    }
}
END
cat >"$TMP/pkg/serin.toml" <<'END'
[package]
name = "small"
version = "0.1.0"
language = "0.1"
END
cat >"$TMP/pkg/nest.toml" <<'END'
[model]
name = "small"
title = "Small"
summary = "Three layers."
license = "apache-2.0"
family = "tests"

[links]
huggingface = "https://huggingface.co/example/small"

[source]
path = "src/lib.serin"
root = "Small"
entry = "forward"

[generics]
V = 7
H = 4
Layers = 3
SHARE = 0.5

[check]
B = 1
S = 8

[weights]
repo = "example/small"
revision = "0123456789abcdef0123456789abcdef01234567"
files = ["one.safetensors", "two.safetensors"]
bindings = "names.json"
END
cat >"$TMP/pkg/names.json" <<'END'
{
    "embed.weight": "table.w",
    "layers.0.weight": "h0.w",
    "layers.1.weight": "h1.w",
    "layers.2.weight": "h2.w",
    "head.weight": "head.w"
}
END
run() { echo "\$ $*" | sed "s|$TMP|TMP|g"; "$SERIN" "$@" 2>&1 | sed "s|$TMP|TMP|g"; }
run check "$TMP/pkg"
run plan "$TMP/pkg"
"$SERIN" eval "$TMP/make.serin" --entry first -o "$TMP/pkg/one.safetensors" || exit
"$SERIN" eval "$TMP/make.serin" --entry second -o "$TMP/pkg/two.safetensors" || exit
echo "-- with its weights"
run check "$TMP/pkg"
run check "$TMP/pkg" --set Layers=1
run check "$TMP/pkg" --set Layers=4
run check "$TMP/pkg" --set H=6
run check "$TMP/pkg" --set H=5
run check "$TMP/pkg" --set S=33
run check "$TMP/pkg" --set Q=1
run check "$TMP/pkg" --json --set V=8
run plan "$TMP/pkg" --set Kept=100
run plan "$TMP/pkg" --set Kept=100 --json
run plan "$TMP/pkg" --rows 2
cp "$TMP/pkg/one.safetensors" "$TMP/pkg/two.safetensors"
run check "$TMP/pkg"
"$SERIN" eval "$TMP/make.serin" --entry second -o "$TMP/pkg/two.safetensors" || exit
sed -i 's/"h1.w"/"h0.w"/' "$TMP/pkg/names.json"
run check "$TMP/pkg"
sed -i 's/"layers.1.weight": "h0.w"/"layers.1.weight": "h1.x"/' "$TMP/pkg/names.json"
run check "$TMP/pkg"
sed -i 's/"h1.x"/"h1.w"/' "$TMP/pkg/names.json"

echo "-- served"
cat >>"$TMP/pkg/src/lib.serin" <<'END'

inference serve {
    model = Small
    generate = forward
}
END
run check "$TMP/pkg"
run serve "$TMP/pkg" --prompt "1 2 6" --tokens 5 --temperature 0 --json
run serve "$TMP/pkg" --prompt "1 2 6" --tokens 5 --temperature 0 --set SHARE=2.0
run serve "$TMP/pkg" --prompt "1 2 6" --tokens 5 --temperature 0 --set Layers=1
run serve "$TMP/pkg" --prompt "1 2 6" --tokens 5 --temperature 0 --set H=5
run export "$TMP/pkg" --target c --serve -o "$TMP/c"
make -s -C "$TMP/c" OPT=-O1 && "$TMP/c/generate" --prompt "1 2 6" --tokens 5 --temperature 0 2>/dev/null
