# The exported program is unchanged by clang-format, with the style file that comes with it.
command -v clang-format >/dev/null || { echo "no clang-format" >&2; exit 77; }
"$SERIN" export examples/minigpt/minigpt.serin --target c --serve -o "$TMP/c" || exit
for file in "$TMP"/c/*.[ch]; do
    clang-format --style=file "$file" | cmp -s - "$file" || echo "$(basename "$file") is changed"
done
[ "$(ls "$TMP"/c/*.[ch] | wc -l)" -ge 5 ] && echo "compared"
