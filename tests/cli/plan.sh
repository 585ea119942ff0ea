# The plan's numbers are those that an exported program allocates, and those of the interpreter, whose
# resident memory is at most the plan and 10 MB.
prompt=$(seq -s' ' 1 60)

# numbers PART: cache_bytes and arena_bytes of a plan's JSON; PART is program or interpreter.
numbers() {
    if [ "$1" = program ]; then sed 's/, "interpreter".*//'; else sed 's/.*"interpreter"://'; fi |
        tr -d ' "{}' | tr ',' '\n' | grep -E '^(cache_bytes|arena_bytes|scratch_bytes|total_bytes):'
}

# served: compares a plan's numbers with the line that serve --memory prints.
served() {
    value() { sed -n "s/^$1:\([0-9]*\)$/\1/p" "$TMP/plan"; }
    printed() { sed -n "s/.*$1 \([0-9]*\) bytes.*/\1/p" "$TMP/memory"; }
    for part in cache arena scratch; do
        [ "$(value ${part}_bytes)" = "$(printed $part)" ] || echo "$part is not as planned"
    done
    [ "$(printed outside)" = 0 ] || echo "the arena was too small"
    over=$(($(printed resident) - $(value total_bytes)))
    [ -n "$SAN" ] || [ $over -le 10000000 ] || echo "$over bytes more than planned"
}
for model in examples/verses tests/data/tiny/gqa tests/data/tiny/llama31; do
    "$SERIN" export "$model" --target c --serve --ctx 64 -o "$TMP/c" 2>"$TMP/err" || cat "$TMP/err"
    make -s -C "$TMP/c" OPT=-O1 || exit
    for chunk in 128 5; do
        "$SERIN" plan "$model" --ctx 64 --rows 2 --chunk $chunk --json | numbers program >"$TMP/plan"
        "$TMP/c/generate" --prompt "$prompt" --prompt "1 2" --tokens 4 --temperature 0 --chunk $chunk \
            --memory 2>"$TMP/err" >"$TMP/ids"
        plan=$(sed -n 's/^cache_bytes:/cache /p; s/^arena_bytes:/bytes, arena /p' "$TMP/plan" | tr '\n' ' ')
        grep -q "^${plan}bytes$" "$TMP/err" && echo "$model, chunks of $chunk: equal" || {
            echo "$model, chunks of $chunk: planned $plan"
            cat "$TMP/err"
        }
    done
    rm -r "$TMP/c"
done
for model in examples/verses tests/data/tiny/gqa tests/data/tiny/llama31; do
    for chunk in 128 5 1; do
        "$SERIN" plan "$model" --ctx 64 --rows 2 --chunk $chunk --threads 2 --json |
            numbers interpreter >"$TMP/plan"
        "$SERIN" serve "$model" --prompt "$prompt" --prompt "1 2" --tokens 4 --chunk $chunk \
            --threads 2 --memory 2>&1 >"$TMP/ids" | grep '^cache' >"$TMP/memory"
        fault=$(served)
        echo "$model, chunks of $chunk, interpreter: ${fault:-equal}"
    done
done
"$SERIN" plan tests/data/tiny/gqa --ctx 64 --threads 2 --json
"$SERIN" plan examples/verses --rows 8 --ctx 256 --threads 2
"$SERIN" plan examples/minigpt/minigpt.serin --threads 2
"$SERIN" plan tests/core/written_cache.serin --rows 2 2>&1
"$SERIN" plan tests/core/written_cache.serin --threads 2
"$SERIN" plan tests/core/written_cache.serin --set MaxSeq=64 --chunk 8 --threads 2 --json
# A hand-written cache: its states lie in the arena and are counted apart; they do not grow with
# the context, and stay where they are, whatever is assigned. Without a cache (--whole) they have
# their place, too.
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
cat >"$TMP/totals.serin" <<'END'
module totals

block Model<Cap: Dim = 24>
where Cap > 0 {
    param table: Tensor[8, 8; f32]
    state total: Tensor[Cap, 8; f32]
    state other: Tensor[33, 8; f32]

    entry next<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]) -> Tensor[B, 8; f32]
    where S > 0 {
        let t = table
        let y[b, h] = t[cast<i64>(tokens[b, S - 1]), h]
        return y
    }

    entry prefill<S: Dim>(tokens: Tensor[1, S; i32], _pos: i32) -> Tensor[1, 8; f32]
    where S > 0 {
        let y = next(tokens)
        let sum_of[c, h] = total[c, h] + y[0, h] * cast<f32>(S)
        total = sum_of
        return total[0:1, :]
    }

    entry decode(token: Tensor[1, 1; i32], _pos: i32) -> Tensor[1, 8; f32] {
        let y = next(token)
        let sum_of[c, h] = total[c, h] + y[0, h]
        total = sum_of
        let turned[c, h] = other[32 - iota<i64>(33)[c], h] + y[0, h]
        other = turned
        let half[c, h] = total[Cap - 1 - iota<i64>(Cap)[c], h] * 0.5
        total = half
        return total[0:1, :] + other[0:1, :]
    }
}

inference serve {
    model = Model
    generate = next
    prefill = prefill
    decode = decode
    cache = kv_cache(Cap)
}
END
"$SERIN" eval "$TMP/make.serin" --entry weights -o "$TMP/w.safetensors" || exit
totals="$TMP/totals.serin --weights $TMP/w.safetensors"
# $totals and the flags are words to split.
# shellcheck disable=SC2086
for flags in '' '--chunk 2'; do
    "$SERIN" plan $totals --ctx 9 $flags --threads 2 --json | numbers interpreter >"$TMP/plan"
    "$SERIN" serve $totals --prompt "1 2 3 4 5" --tokens 4 $flags --threads 2 --memory \
        2>"$TMP/err" >"$TMP/ids"
    grep '^cache' "$TMP/err" >"$TMP/memory"
    fault=$(served)
    echo "hand-written $flags: ${fault:-equal}"
    sed -n 's/.*arena \(.*\), scratch.*/arena \1/p' "$TMP/memory"
done
# shellcheck disable=SC2086
"$SERIN" serve $totals --prompt "1 2 3" --tokens 2 --whole --threads 2 --memory 2>&1 >"$TMP/ids" |
    grep -o 'outside [0-9]* bytes'
# shellcheck disable=SC2086
"$SERIN" serve $totals --prompt "1 2 3" --prompt 4 --tokens 2 --rows 2 2>&1
"$SERIN" plan "$TMP/totals.serin" --ctx 9 --threads 2
"$SERIN" check "$TMP/totals.serin" --summary --prove 2>&1 | sed "s|$TMP|TMP|g"
# Six layers written out, each with a window of its own: what was proved is freed on the way.
{
    cat <<'END'
module layers

use std.nn.attention::{attention, merge_heads, split_heads}
use std.nn.norm::{rms_norm}

block Model {
    param table: Tensor[8, 8; f32]

    entry next<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]) -> Tensor[B, 8; f32]
    where S > 0 {
        let at = iota<i64>(S)
        let one[d] = table[0, d]
        let x0[b, s, d] = table[cast<i64>(tokens[b, s]), d]
END
    for i in 0 1 2 3 4 5; do
        cat <<END
        let q$i[b, s, o] = sum[d] x$i[b, s, d] * table[o, d]
        let m$i[i, j] = at[j] <= at[i] && at[j] > at[i] - $((i + 5))
        let h$i = split_heads<B, S, 2, 4, f32>(q$i)
        let y$i = merge_heads<B, S, 2, 4, f32>(attention(h$i, h$i, h$i, 0.5, some(m$i)))
        let x$((i + 1)) = rms_norm(x$i + y$i, one)
END
    done
    cat <<'END'
        let logits[b, o] = sum[d] x6[b, S - 1, d] * table[o, d]
        return logits
    }
}

inference serve {
    model = Model
    generate = next
    cache = kv_cache(S)
}
END
} >"$TMP/layers.serin"
layers="$TMP/layers.serin --weights $TMP/w.safetensors"
# shellcheck disable=SC2086
"$SERIN" plan $layers --ctx 40 --threads 2 --json | numbers interpreter >"$TMP/plan"
# shellcheck disable=SC2086
"$SERIN" serve $layers --prompt "1 2 3 4 5" --tokens 35 --threads 2 --memory 2>"$TMP/err" >"$TMP/ids"
grep '^cache' "$TMP/err" >"$TMP/memory"
fault=$(served)
echo "six layers with windows: ${fault:-equal}"
