# The Llama 3.1 package of Linnet, whose folder SERIN_TEST_PACKAGE names; its weights are not needed.
package=${SERIN_TEST_PACKAGE:-../shared/reference/llama3}
[ -f "$package/linnet.toml" ] || { echo "there is no package in $package" >&2 && exit 77; }
# The package lies outside of this tree and may be laid out otherwise: its lines are not compared (those
# of tests/packages are).
plain() { sed "s|$package|PKG|g; s|\\(PKG/src/[a-z]*\\.linnet\\):[0-9:]*|\\1|; /^ *[0-9]* *|/d"; }
run() { echo "\$ $*" | sed "s|$package|PKG|g"; "$SERIN" "$@" 2>&1 | plain; }
run check "$package"
run check "$package" --set Layers=2
run check "$package" --set KvHeads=5
run plan "$package"
run plan "$package" --set MaxSeq=131072
run plan "$package" --set MaxSeq=131072 --json
run plan "$package" --set Layers=2 --set MaxSeq=16 --set T=f32
echo "-- the small checkpoint with its constants"
small="--set Vocab=64 --set H=256 --set Heads=2 --set KvHeads=1 --set Inner=64 --set Layers=2 --set T=f32"
# The flags are words to split.
# shellcheck disable=SC2086
run check "$package" $small --weights tests/data/tiny/llama31/model.safetensors
"$SERIN" inspect "$package" | tail -n 24 | cut -d '<' -f 1 | cut -d '(' -f 1
