# A scripted editor: messages in, answers out, one a line. What is broken is answered or dropped.
say() { printf 'Content-Length: %d\r\n\r\n%s' "${#1}" "$1"; }
request() { say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"$2\",\"params\":$3}"; }
tell() { say "{\"jsonrpc\":\"2.0\",\"method\":\"$1\",\"params\":$2}"; }
at() { request "$1" "textDocument/$2" "{\"textDocument\":{\"uri\":\"$uri\"},\"position\":{\"line\":$3,\"character\":$4}}"; }
answers() {
    "$SERIN" lsp | tee "$TMP/log" | tr -d '\r' | sed 's/Content-Length: [0-9]*$//' | grep -v '^$'
    echo "---"
}

uri=file:///nowhere/a%20model.serin
# 0 module m
# 1 pub fn f<N: Dim>(x: Tensor[N, 3; f32]) -> Tensor[N; f32] {
# 2     let y[i] = sum[j] x[i, j]
# 3     return y + twice(x)[:, 0] // (an emoji)
# 4 }
# 5 fn twice<N: Dim>(x: Tensor[N, 3; f32]) -> Tensor[N, 3; f32] { return x * 2.0 }
good='module m\npub fn f<N: Dim>(x: Tensor[N, 3; f32]) -> Tensor[N; f32] {\n    let y[i] = sum[j] x[i, j]\n    return /* \ud83d\ude00 */ y + twice(x)[:, 0]\n}\nfn twice<N: Dim>(x: Tensor[N, 3; f32]) -> Tensor[N, 3; f32] { return x * 2.0 }\n'
bad='module m\nfn f(x: Tensor[2, 3; f32]) -> Tensor[3; f32] {\n    let y[i] = sum[j] x[i, j]\n    return y\n}\n'
document() { echo "{\"textDocument\":{\"uri\":\"$uri\",\"languageId\":\"serin\",\"version\":1,\"text\":\"$1\"}}"; }
change() { echo "{\"textDocument\":{\"uri\":\"$uri\",\"version\":2},\"contentChanges\":[{\"text\":\"$1\"}]}"; }

{
    at 0 hover 0 0
    request 1 initialize '{"capabilities":{}}'
    tell initialized '{}'
    tell textDocument/didOpen "$(document "$bad")"
    tell textDocument/didChange "$(change "$good")"
    at 2 hover 2 8
    at 3 hover 2 16
    at 4 hover 3 20
    at 5 hover 3 24
    at 6 definition 3 24
    at 7 definition 3 20
    at 8 definition 2 22
    at 9 hover 3 30
    at 10 hover 99 99
    request 11 textDocument/formatting "{\"textDocument\":{\"uri\":\"$uri\"},\"options\":{}}"
    tell textDocument/didChange "$(change 'module m\nfn f( {\n')"
    request 12 textDocument/formatting "{\"textDocument\":{\"uri\":\"$uri\"},\"options\":{}}"
    at 13 hover 1 3
    tell textDocument/didClose "{\"textDocument\":{\"uri\":\"$uri\"}}"
    at 14 hover 1 3
    request 15 shutdown null
    tell exit null
} | answers

# Malformed: no JSON, no object, no method, wrong types, an unknown method; then the stream breaks.
{
    request 1 initialize '{}'
    say 'nonsense'
    say '[1, 2]'
    say '{"id": 2}'
    say '{"id": 3, "method": 4}'
    request '"four"' no/such/method '[]'
    request 5 textDocument/hover '{"textDocument":{"uri":7},"position":"here"}'
    request 6 textDocument/hover null
    tell textDocument/didOpen '{"textDocument":{"uri":"a","text":12}}'
    tell textDocument/didChange '[]'
    tell textDocument/didOpen '{"textDocument":{"uri":"untitled:1","text":"\u0000\ud800"}}'
    say '{"id": 8, "result": null}'
    printf 'Content-Length: 99999999999999\r\n\r\n{}'
} | answers
for header in 'Content-Length: 5\r\nContent-Length: 5\r\n\r\n' 'Content-Length: -1\r\n\r\n' \
    'Content-Length: 10\r\n\r\n{}' '\r\n' 'nothing'; do
    printf "$header" | "$SERIN" lsp
    echo "exit code $?"
done
head -c 100000 /dev/zero | tr '\0' 'a' | "$SERIN" lsp
echo "exit code $?"

# A module deep in a package; what it imports is defined in another file and changes on disk.
mkdir -p "$TMP/p/src/deep" && cat >"$TMP/p/serin.toml" <<'END'
[package]
name = "p"
version = "0.1.0"
language = "0.1"
END
printf 'module p.b\npub fn one() -> f32 { return 1.0 }\n' >"$TMP/p/src/b.serin"
uri=file://$TMP/p/src/deep/a.serin
{
    request 1 initialize '{}'
    tell textDocument/didOpen "$(document 'module p.a\nuse crate.b::{one}\nuse std.nn.softmax::{softmax}\npub fn two(x: Tensor[2, 3; f32]) -> Tensor[2, 3; f32] { return softmax(x) + one() }\n')"
    at 2 definition 3 77
    at 3 hover 3 65
    at 4 hover 2 25
    for _ in $(seq 300); do grep -q '"id":4' "$TMP/log" && break || sleep 0.1; done
    printf 'module p.b\nfn one() -> f32 { return 1.0 }\n' >"$TMP/p/src/b.serin"
    tell textDocument/didSave "{\"textDocument\":{\"uri\":\"$uri\"}}"
    request 5 shutdown null
    tell exit null
} | answers | sed "s|$TMP|TMP|g"
