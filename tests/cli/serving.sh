# What check says of serving: the transcripts of README.md and spec/serving.md.
try() {
    echo "\$ check $*"
    "$SERIN" check "$@" 2>"$TMP/err"
    echo "exit code $?"
    sed "s|$TMP|TMP|" "$TMP/err"
}
sizes='--dim Vocab=1000 --dim D=64'
# The sizes are words to split.
# shellcheck disable=SC2086
try examples/02_attention.serin $sizes --entry forward --prove --summary
sed 's/at\[j\] <= at\[i\]/at[j] < at[i] + 2/' examples/02_attention.serin >"$TMP/broken.serin"
# shellcheck disable=SC2086
try "$TMP/broken.serin" $sizes --entry forward | sed "s|$TMP|TMP|"
# shellcheck disable=SC2086
try "$TMP/broken.serin" $sizes --entry forward --json | sed "s|$TMP|TMP|g"
# With open dimensions: proved for all of them, doubted, or not decided.
try examples/02_attention.serin --prove --summary
try "$TMP/broken.serin" --entry forward --summary | sed "s|$TMP|TMP|"
try stdlib/models/llama.serin --prove --summary
sed 's/Vocab: Dim, D: Dim/Vocab: Dim, D: Dim, T: Float/' examples/02_attention.serin >"$TMP/open.serin"
try "$TMP/open.serin" --summary | sed "s|$TMP|TMP|"
try examples/verses --engine vllm
try examples/verses --engine gguf --json
try examples/verses --engine trt
try stdlib/models/llama.serin --engine gguf
try examples/minigpt/minigpt.serin --engine vllm
