# One length: an exported program that pads gives the ids of serve, or the export is refused.
prompt=$(seq -s' ' 1 12)
for model in examples/verses tests/data/tiny/gqa examples/minigpt/minigpt.serin; do
    "$SERIN" export "$model" --target c --serve --fixed --ctx 24 -o "$TMP/c" 2>"$TMP/err" ||
        cat "$TMP/err"
    make -s -C "$TMP/c" OPT=-O1 CFLAGS='-std=c11 -O1 -ffp-contract=off -Wall -Wextra -Werror' ||
        exit
    for flags in '--temperature 0' '--temperature 0.8 --seed 3'; do
        # The flags are words to split.
        # shellcheck disable=SC2086
        for p in "$prompt" '1 2 3 4 5 6 7 8'; do
            "$TMP/c/generate" --prompt "$p" --tokens 12 $flags --json >"$TMP/got" 2>/dev/null
            "$SERIN" serve "$model" --prompt "$p" --tokens 12 $flags --json >"$TMP/want" 2>/dev/null
            cmp "$TMP/got" "$TMP/want" && echo "$model $flags: equal"
        done
    done
    "$TMP/c/generate" --prompt "$prompt" --tokens 13 --temperature 0 2>&1 | grep error
    rm -r "$TMP/c"
done

# both NAME TOKENS: the ids of the exported program and of serve, prompt by prompt.
both() {
    for p in 3 "3 1" "1 2 3 4 5"; do
        "$TMP/c/generate" --prompt "$p" --tokens "$2" --temperature 0 2>/dev/null
        "$SERIN" serve "$TMP/$1.serin" --weights "$TMP/w.safetensors" --prompt "$p" \
            --tokens "$2" --temperature 0 --whole 2>/dev/null
    done
}

cat >"$TMP/make.serin" <<'END'
module make

struct Weights {
    table: Tensor[8, 8; f32]
}

entry weights() -> Weights {
    let y[i, j] = sin(cast<f32>(iota<i64>(8)[i] * 31 + iota<i64>(8)[j] * 7))
    return Weights(table = y)
}
END
"$SERIN" eval "$TMP/make.serin" --entry weights -o "$TMP/w.safetensors" || exit

# program NAME [RESULT]: its last lines are the body of `next`, from stdin.
program() {
    {
        sed "s/RESULT/${2:-Tensor[B; i32]}/" <<'END'
module padded

use std.nn.attention::{causal_mask}
use std.nn.decoding::{argmax}
use std.nn.softmax::{softmax}

block Model {
    param table: Tensor[8, 8; f32]

    fn rows<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]) -> Tensor[B, S, 8; f32] {
        let t = table
        let x[b, s, h] = t[cast<i64>(tokens[b, s]), h]
        return x
    }

    pub fn last_row<B: Dim, S: Dim>(x: Tensor[B, S, 8; f32]) -> Tensor[B, 8; f32]
    where S > 0 {
        return x[:, S - 1, :]
    }

    fn mixed<B: Dim, S: Dim>(
        x: Tensor[B, S, 8; f32],
        mask: Tensor[S, S; bool],
    ) -> Tensor[B, S, 8; f32] {
        let score[b, q, k] = sum[h] x[b, q, h] * x[b, k, h]
        let seen[b, q, k] = select(mask[q, k], score[b, q, k], -1e30)
        let share = softmax(seen)
        let y[b, q, h] = sum[k] share[b, q, k] * x[b, k, h]
        return y
    }

    entry next<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]) -> RESULT
    where
        S > 0,
        S <= 16
    {
        let x = rows(tokens)
END
        cat
        printf '    }\n}\n\ninference serve {\n    model = Model\n}\n'
    } >"$TMP/$1.serin"
}
program fine <<'END'
        let y = mixed(x, causal_mask<S, S>())
        return argmax(y[:, S - 1, :])
END
program open-attention <<'END'
        let y = mixed(x, fill<bool>([S, S], true))
        return argmax(y[:, S - 1, :])
END
program mean <<'END'
        let y[b, h] = sum[s] x[b, s, h] / cast<f32>(S)
        return argmax(y + x[:, S - 1, :])
END
program elsewhere <<'END'
        return argmax(last_row(x))
END
program twice <<'END'
        let y = x[:, S - 1, :]
        let z[b, h] = x[b, S - 1, h] * 2.0
        return argmax(y + z)
END
program length <<'END'
        let y = x[:, S - 1, :]
        return argmax(y * cast<f32>(S))
END
program from-the-end <<'END'
        let place = iota<i64>(S)
        let y[b, s, h] = x[b, s, h] * cast<f32>(S - place[s]) + cast<f32>(place[s])
        return argmax(y[:, S - 1, :])
END
program two-lengths <<'END'
        let y = x[:, S - 1, :]
        let place = iota<i64>(S)
        let n = sum[s] cast<f32>(place[s])
        return argmax(y + n)
END
cat >"$TMP/hand-written.serin" <<'END'
module padded

block Model {
    param table: Tensor[8, 8; f32]
    state total: Tensor[1, 8; f32]

    entry next<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]) -> Tensor[B, 8; f32]
    where S > 0 {
        let t = table
        let y[b, h] = t[cast<i64>(tokens[b, S - 1]), h]
        return y
    }

    entry decode(token: Tensor[1, 1; i32], _pos: i32) -> Tensor[1, 8; f32] {
        total = total + next(token)
        return total
    }
}

inference serve {
    model = Model
    generate = next
    decode = decode
}
END
for name in fine open-attention mean elsewhere twice length from-the-end two-lengths hand-written; do
    echo "-- $name"
    rm -rf "$TMP/c"
    "$SERIN" export "$TMP/$name.serin" --weights "$TMP/w.safetensors" --target c --serve --fixed \
        --ctx 12 -o "$TMP/c" 2>&1 | sed "s|$TMP|TMP|g"
done
rm -rf "$TMP/c"
"$SERIN" export "$TMP/fine.serin" --weights "$TMP/w.safetensors" --target c --serve --fixed \
    -o "$TMP/c" 2>&1 | sed "s|$TMP|TMP|g"
make -s -C "$TMP/c" OPT=-O1 || exit
both fine 11

# Entries that give logits: those of the text's last token are read.
program rows 'Tensor[B, S, 8; f32]' <<'END'
        return mixed(x, causal_mask<S, S>())
END
program row 'Tensor[B, 8; f32]' <<'END'
        let y = mixed(x, causal_mask<S, S>())
        return y[:, S - 1, :]
END
program rows-bf16 'Tensor[B, S, 8; bf16]' <<'END'
        return cast<bf16>(mixed(x, causal_mask<S, S>()))
END
program rows-mean 'Tensor[B, S, 8; f32]' <<'END'
        let mean[b, h] = sum[s] x[b, s, h] / cast<f32>(S)
        let y[b, s, h] = x[b, s, h] + mean[b, h]
        return y
END
program row-mean 'Tensor[B, 8; f32]' <<'END'
        let mean[b, h] = sum[s] x[b, s, h] / cast<f32>(S)
        return mean
END
program rows-ahead 'Tensor[B, S, 8; f32]' <<'END'
        let at = iota<i64>(S)
        let seen[q, k] = at[k] < at[q] + 2
        return mixed(x, seen)
END
weights="--weights $TMP/w.safetensors"

# same NAME FLAGS...: are the exported program's ids those of serve?
same() {
    name=$1
    shift
    rm -rf "$TMP/c"
    # The flags are words to split.
    # shellcheck disable=SC2086
    if ! "$SERIN" export "$TMP/$name.serin" $weights --target c --serve "$@" -o "$TMP/c" \
        2>"$TMP/err"; then
        sed "s|$TMP|TMP|g" "$TMP/err"
        return
    fi
    make -s -C "$TMP/c" OPT=-O1 CFLAGS='-std=c11 -O1 -ffp-contract=off -Wall -Wextra -Werror' ||
        return
    for flags in '--temperature 0' '--temperature 0.8 --seed 3'; do
        for p in "1 2 3 4 5 6 7 0" 3 "3 1"; do
            # shellcheck disable=SC2086
            "$TMP/c/generate" --prompt "$p" --tokens 8 $flags --json >"$TMP/got" 2>/dev/null
            # shellcheck disable=SC2086
            "$SERIN" serve "$TMP/$name.serin" $weights --prompt "$p" --tokens 8 $flags --json \
                >"$TMP/want" 2>/dev/null
            cmp "$TMP/got" "$TMP/want" && sed 's/.*"generated"/equal/' "$TMP/got"
        done
    done
}
for name in rows row rows-bf16 rows-mean row-mean rows-ahead; do
    echo "-- $name"
    same "$name" --fixed
done
echo "-- without --fixed, from the whole context"
same rows-ahead

echo "-- a window of learned positions"
cat >"$TMP/window.serin" <<'END'
module window

block Model<T: Dim> {
    param table: Tensor[8, 8; f32]
    param place: Tensor[T, 8; f32]

    entry forward<B: Dim>(tokens: Tensor[B, T; i32]) -> Tensor[B, T, 8; f32] {
        let x[b, s, h] = table[tokens[b, s], h] * 0.5 + place[s, h]
        let whole[b, h] = sum[s] x[b, s, h]
        let y[b, s, h] = x[b, s, h] + whole[b, h]
        return y
    }
}

inference serve {
    model = Model
}
END
sed -e 's/    table: .*/&\n    place: Tensor[8, 8; f32]/' -e 's/table = y/table = y, place = y/' \
    "$TMP/make.serin" >"$TMP/two.serin"
"$SERIN" eval "$TMP/two.serin" --entry weights -o "$TMP/v.safetensors" || exit
weights="--weights $TMP/v.safetensors"
same window
# Padding is made of the text's own tokens: of another one a hidden term may be 0 times infinity.
program infinite <<'END'
        let at = iota<i64>(S)
        let heat[b, k] = select(tokens[b, k] == 0, cast<f32>(1000.0), 1.0)
        let u[b, k, h] = exp(x[b, k, h] * heat[b, k])
        let y[b, q, h] = sum[k] select(at[k] <= at[q], x[b, q, h], 0.0) * u[b, k, h]
        return argmax(x[:, S - 1, :] + y[:, S - 1, :])
END
rm -rf "$TMP/c"
"$SERIN" export "$TMP/infinite.serin" --weights "$TMP/w.safetensors" --target c --serve --fixed \
    -o "$TMP/c" 2>&1 | sed "s|$TMP|TMP|g"
make -s -C "$TMP/c" OPT=-O1 || exit
both infinite 1
