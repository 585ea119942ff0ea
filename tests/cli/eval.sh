# Entries called with tensors from files: a module's entries make the weights and inputs of a block's.
cat > "$TMP/p.serin" <<'END'
module p

struct Weight<N: Dim, M: Dim> {
    weight: Tensor[N, M; f32]
}

struct Weights<H: Dim> {
    table: Weight<4, H>
    head: Weight<4, H>
}

struct Inputs<B: Dim> {
    ids: Tensor[B; i32]
    scale: f32
}

block Table<N: Dim, H: Dim> {
    param weight: Tensor[N, H; f32]
}

block Model<V: Dim, H: Dim>
where
    V > 0,
    H % 2 == 0
{
    sub table: Table<V, H>
    sub head: Table<V, H>
    state sum: Tensor[H; f32]
    state calls: Tensor[1; i64]

    // Adds the rows of ids to the sum; scores of the sum.
    entry step<B: Dim>(ids: Tensor[B; i32], scale: f32 = 1.0) -> (Tensor[V; f32], i64)
    where B > 0 {
        let rows = table.weight
        let added[h] = sum[b] rows[cast<i64>(ids[b]), h] * scale
        sum = sum + added
        calls = calls + 1
        let head_rows = head.weight
        let now = sum
        let scores[v] = sum[h] head_rows[v, h] * now[h]
        return (scores, calls[0])
    }
}

entry weights<H: Dim>() -> Weights<H> {
    let up[v, h] = cast<f32>(iota<i64>(4)[v] * 10 + iota<i64>(H)[h])
    return Weights(table = Weight(weight = up), head = Weight(weight = up * 0.5))
}

entry inputs<B: Dim>() -> Inputs<B> {
    return Inputs(ids = iota<i32>(B) % 4, scale = 2.0)
}

entry floats() -> (f32, f32) {
    return (1.0, 2.0)
}

// Is the first step with these inputs and weights what it must be?
entry first(ids: Tensor[3; i32], scale: f32) -> Tensor[4; f32] {
    let up[v, h] = cast<f32>(iota<i64>(4)[v] * 10 + iota<i64>(6)[h])
    let added[h] = sum[b] up[cast<i64>(ids[b]), h] * scale
    let scores[v] = sum[h] (up[v, h] * 0.5) * added[h]
    return scores
}
END
run() { echo "\$ eval $*" | sed "s|$TMP|TMP|g"; "$SERIN" eval "$TMP/p.serin" "$@" 2>&1 | sed "s|$TMP|TMP|g"; }
run --entry weights --set H=6 -o "$TMP/w" --json
run --entry inputs --set B=3 -o "$TMP/in" --json
run --entry step --weights "$TMP/w" --inputs "$TMP/in" -o "$TMP/y1" --state-out "$TMP/s1" --json
run --entry first --inputs "$TMP/in" -o "$TMP/want"
"$SERIN" eval "$TMP/p.serin" --entry step --weights "$TMP/w" --inputs "$TMP/in" --state "$TMP/s1" \
    -o "$TMP/y2" --state-out "$TMP/s2" || exit
"$SERIN" eval "$TMP/p.serin" --entry step --weights "$TMP/w" --inputs "$TMP/in" \
    -o "$TMP/y1.again" --state-out "$TMP/s1.again" || exit
cmp "$TMP/y1" "$TMP/y1.again" && cmp "$TMP/s1" "$TMP/s1.again" && echo "the same again"
cmp -s "$TMP/s1" "$TMP/s2" || echo "another state after the second"
tail -c 16 "$TMP/y1" | od -An -t f4 && tail -c 16 "$TMP/want" | od -An -t f4 && tail -c 16 "$TMP/y2" | od -An -t f4

echo "-- results as text"
cat > "$TMP/q.serin" <<'END'
module q

struct Pair {
    at: Tensor[2; f64]
    is: bool
}

entry table() -> Tensor[2, 3; f32] {
    return cast<f32>(reshape(iota(6), [2, 3]) + 1)
}

entry floats() -> Tensor[9; f32] {
    let large = fill<f32>([1], 16777216.0)
    let ends = concat(fill<f32>([1], 1e16), fill<f32>([1], 1.5e38), axis = 0)
    let few = concat(fill<f32>([1], 0.1), fill<f32>([1], -0.0001), axis = 0)
    let third = fill<f32>([1], 1.0) / 3.0
    let odd = concat(1.0 / fill<f32>([1], -0.0), sqrt(fill<f32>([1], -1.0)), axis = 0)
    let tiny = concat(fill<f32>([1], 1e-45), third, axis = 0)
    return concat(concat(concat(large, ends, axis = 0), concat(few, tiny, axis = 0), axis = 0),
        odd, axis = 0)
}

entry small() -> (bf16, f16, f64, f32) {
    return (cast<bf16>(0.1), cast<f16>(0.1), 0.1, -0.0)
}

entry ends() -> (i8, u8, i64, u64, bool) {
    let zero = cast<u64>(0)
    return (-128, 255, 0 - 9223372036854775807 - 1, zero - 1, false)
}

entry pair() -> (Pair, Tensor[2, 0; i32]) {
    return (Pair(at = cast<f64>(iota(2)) / 10.0, is = true), fill<i32>([2, 0], 1))
}

entry long() -> Tensor[10, 101; u8] {
    return fill<u8>([10, 101], 7)
}

entry full() -> Tensor[1000; bool] {
    return fill<bool>([1000], true)
}
END
text() { "$SERIN" eval "$TMP/q.serin" --print --entry "$@" 2>&1; }
for entry in table floats small ends pair; do
    text $entry
done
text long | tail -c 60
text full | tail -c 60
text table -o "$TMP/t" && tail -c 24 "$TMP/t" | od -An -t f4
run --entry step --weights "$TMP/w" --inputs "$TMP/in" --print --state-out "$TMP/s1.again"
cmp "$TMP/s1" "$TMP/s1.again"
run --entry floats --print --json
"$SERIN" eval --help | grep -e --print

echo "-- what is wrong"
run --entry stop -o "$TMP/no"
run --entry weights -o "$TMP/no"
run --entry weights --set H=6 --set K=1 -o "$TMP/no"
run --entry inputs --set B=3 --inputs "$TMP/w" -o "$TMP/no"
run --entry step --inputs "$TMP/in" --set V=4 --set H=6 -o "$TMP/no"
run --entry step --weights "$TMP/w" --inputs "$TMP/in" --set V=5 -o "$TMP/no"
run --entry step --weights "$TMP/w" -o "$TMP/no" --set B=2
run --entry first --inputs "$TMP/s1" -o "$TMP/no"
"$SERIN" eval "$TMP/p.serin" --entry inputs --set B=2 -o "$TMP/in2"
run --entry first --inputs "$TMP/in2" -o "$TMP/no"
"$SERIN" eval "$TMP/p.serin" --entry weights --set H=3 -o "$TMP/w3"
run --entry step --weights "$TMP/w3" --inputs "$TMP/in" -o "$TMP/no"
run --entry step --weights "$TMP/w" --inputs "$TMP/in" --state "$TMP/w" -o "$TMP/no"
run --entry step --weights "$TMP/missing" --inputs "$TMP/in" --set V=4 --set H=6 -o "$TMP/no"
run --entry floats
[ -e "$TMP/no" ] && echo "written in spite of an error"

echo "-- inspect"
"$SERIN" inspect "$TMP/p.serin" --set V=4 --set H=6
"$SERIN" inspect "$TMP/p.serin" --json --set V=4 --set H=6
