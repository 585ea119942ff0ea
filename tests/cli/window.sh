# A sliding window of 12 positions: the cache holds little more than the window and slides. The ids
# are those of an implementation in float64 that shares nothing with this one (least margin 0.002).
mkdir "$TMP/m" && cp tests/data/tiny/gqa/model.safetensors "$TMP/m" || exit
sed 's/LlamaForCausalLM/MistralForCausalLM/; s/"model_type": *"llama"/"model_type": "mistral", "sliding_window": 12/' \
    tests/data/tiny/gqa/config.json >"$TMP/m/config.json"
grep -c sliding_window "$TMP/m/config.json"
prompt=$(tr -d '\n' <tests/data/tiny/gqa/golden.json | grep -oE '"prompt": \[[0-9, ]*\]' | sed -n '2{s/^[^[]*\[//; s/\]//; s/,//g; p;}')
"$SERIN" serve "$TMP/m" --prompt "$prompt" --tokens 60 --temperature 0 --chunk 5
for flags in --whole '--chunk 1' '--chunk 128'; do
    for more in '--temperature 0' '--temperature 0.9 --seed 5'; do
        "$SERIN" serve "$TMP/m" --prompt "$prompt" --tokens 60 $more --chunk 5 >"$TMP/a"
        "$SERIN" serve "$TMP/m" --prompt "$prompt" --tokens 60 $more $flags >"$TMP/b"
        cmp "$TMP/a" "$TMP/b" && echo "$flags $more: equal"
    done
done
"$SERIN" serve "$TMP/m" --prompt "$prompt" --prompt "51 15 59 23 47" --tokens 60 --temperature 0 --chunk 7
