# Greedy and sampled ids of tiny checkpoints, against those of an implementation in float64 that
# shares nothing with this one.

# numbers FILE KEY: the lists of that key, one a line, as ids separated by spaces.
numbers() { tr -d '\n' <"$1" | grep -oE "\"$2\": \[[0-9, ]*\]" | sed 's/^[^[]*\[//; s/\]$//; s/, */ /g'; }

# scalar FILE KEY: the first number of that key.
scalar() { tr -d '\n' <"$1" | grep -oE "\"$2\": [0-9.]+" | sed -n '1s/.*: //p'; }

# compare NAME KEY FLAGS...: runs every prompt of the golden file.
compare() {
    golden=$1 key=$2
    shift 2
    numbers "$golden" prompt >"$TMP/prompts"
    numbers "$golden" "$key" >"$TMP/want"
    while read -r prompt; do
        "$SERIN" serve "$@" --prompt "$prompt" --tokens "$count" 2>>"$TMP/stderr"
    done <"$TMP/prompts" >"$TMP/got"
    if [ -s "$TMP/want" ] && cmp -s "$TMP/want" "$TMP/got"; then
        echo "$golden: $(wc -l <"$TMP/got") prompts, $count $key tokens each: equal"
    else
        echo "$golden: $key tokens differ"
        diff "$TMP/want" "$TMP/got"
        cat "$TMP/stderr"
    fi
}

for golden in tests/data/tiny/*/golden.json tests/data/verses/golden.json; do
    folder=$(dirname "$golden")
    case $folder in
    */minigpt) set -- examples/minigpt/minigpt.serin --weights "$folder/model.safetensors" ;;
    */verses) set -- examples/verses ;;
    *) set -- "$folder" ;;
    esac
    count=$(numbers "$golden" greedy | sed -n 1p | wc -w)
    compare "$golden" greedy "$@" --temperature 0
    compare "$golden" sampled "$@" --temperature "$(scalar "$golden" temperature)" \
        --seed "$(scalar "$golden" seed)"
done
