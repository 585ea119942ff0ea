# What generation_config.json may wish of the draws, and a flag that a checkpoint has no use for.
mkdir "$TMP/m" && cp examples/verses/*.json examples/verses/model.safetensors "$TMP/m" || exit
for wish in '"top_k": 1e300' '"temperature": -1' '"top_p": 2' '"top_k": -1, "temperature": 0'; do
    echo "{$wish}" >"$TMP/m/generation_config.json"
    "$SERIN" run "$TMP/m" 'And the LORD said' --tokens 8 2>"$TMP/stderr"
    echo "$wish: exit code $?"
    grep ^error "$TMP/stderr"
done
echo '{"top_p": 2}' >"$TMP/m/generation_config.json"
"$SERIN" run "$TMP/m" 'And the LORD said' --tokens 8 --temperature 0 --top-p 1
"$SERIN" serve "$TMP/m" --weights "$TMP/m/model.safetensors" --prompt 1 2>&1 | sed "s|$TMP|TMP|g"
