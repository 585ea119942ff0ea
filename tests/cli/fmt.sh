# serin fmt: the tree's own sources are formatted, files are replaced whole, mistakes are refused.
"$SERIN" fmt --check stdlib examples && echo "stdlib and examples are formatted"
"$SERIN" fmt nowhere.serin
echo "missing: exit code $?"

mkdir -p "$TMP/src/deep" && cd "$TMP" || exit
printf 'module a fn f(x:f32)->f32{return x+1.0}// end\n' >src/deep/a.serin
printf 'module b\nfn f( {\n' >src/b.serin
printf 'not a source' >src/c.txt
chmod 640 src/deep/a.serin
ln -s deep/a.serin src/link.serin
"$SERIN" fmt --check src/deep src/link.serin
echo "check: exit code $?"
"$SERIN" fmt src 2>err
echo "with a mistake: exit code $?"
sed -n 1,3p err
cat src/deep/a.serin src/b.serin
stat -c %a src/deep/a.serin
"$SERIN" fmt --check src/link.serin && echo "formatted"
printf 'module b type A=(f32,f32,)' | "$SERIN" fmt - && ls src src/deep
# The whole file system is never walked (--check, since nothing may be written should this fail).
for root in / /. "$TMP/../../../../../../../.."; do
    timeout 10 "$SERIN" fmt --check "$root" >/dev/null 2>err
    echo "root: exit code $?, $(grep -c 'whole file system' err)"
done
