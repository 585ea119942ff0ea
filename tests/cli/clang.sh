# The exported program builds with clang without a warning and prints the same ids.
command -v clang >/dev/null || { echo "no clang" >&2; exit 77; }
model=examples/minigpt/minigpt.serin
"$SERIN" export $model --target c --serve -o "$TMP/c" || exit
make -s -C "$TMP/c" CC=clang CFLAGS="-std=c11 -O0 -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Werror" || exit
"$TMP/c/generate" --prompt '1 2 3 4 5 6 7 8' --tokens 12 --temperature 0
