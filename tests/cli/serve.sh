# Ids in, ids out: a model with a window, whose weights are beside it.
model=examples/minigpt/minigpt.serin
prompt='1 2 3 4 5 6 7 8'
"$SERIN" serve $model --prompt "$prompt" --tokens 12 --temperature 0
"$SERIN" serve $model --prompt "$prompt" --tokens 12 --temperature 0 --threads 1
"$SERIN" serve $model --prompt "$prompt" --tokens 12 --temperature 0.8 --seed 7
"$SERIN" serve $model --prompt "$prompt" --tokens 4 --temperature 0 --json
for wrong in '1 2 3' '1 2 3 4 5 6 7 64' '1 2 3 4 5 6 7 x' ''; do
    "$SERIN" serve $model --prompt "$wrong" --tokens 4 2>&1
    echo "prompt \"$wrong\": exit code $?"
done
