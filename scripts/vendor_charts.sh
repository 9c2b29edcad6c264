#!/usr/bin/env bash
# Fetch the chart library (static/vendor/vega) by name and version, with npm. Only needed for newer versions.
set -euo pipefail

VEGA=6.4.0 VEGA_LITE=6.4.3 INTERPRETER=2.3.2

cd "$(dirname "$0")/.."
target=$PWD/static/vendor/vega
fetched=$(mktemp -d)
trap 'rm -rf "$fetched"' EXIT
npm install --silent --ignore-scripts --no-save --prefix "$fetched" \
  "vega@$VEGA" "vega-lite@$VEGA_LITE" "vega-interpreter@$INTERPRETER"
packages=$fetched/node_modules
mkdir -p "$target"

# Source maps are not vendored, and a pointer to one that is missing stops collectstatic.
without_map() { sed '/^\/\/# sourceMappingURL=/d' "$1"; }
without_map "$packages/vega/build/vega.min.js" >"$target/vega.min.js"
without_map "$packages/vega-lite/build/vega-lite.min.js" >"$target/vega-lite.min.js"

# The interpreter comes as a module that imports "vega-util", which only an inline import map could
# resolve. vega.min.js has those names; so it becomes a script that takes them from there.
{
  echo '(() => {'
  echo '"use strict";'
  without_map "$packages/vega-interpreter/build/vega-interpreter.js" | sed \
    -e "s/^import \(.*\) from 'vega-util';/const \1 = globalThis.vega;/" \
    -e 's/^export { expression as expressionInterpreter };/globalThis.vegaInterpreter = { expressionInterpreter: expression };/'
  echo '})();'
} >"$target/vega-interpreter.js"
if grep -Eq '^(import|export) ' "$target/vega-interpreter.js"; then
  echo "vega-interpreter has another form than this script knows" >&2
  exit 1
fi

# The files above hold their dependencies, whose licences ask for their notices.
for package in vega vega-lite vega-interpreter $(cd "$packages" && ls -d d3-* vega-* topojson-client delaunator internmap robust-predicates); do
  file=$(find "$packages/$package" -maxdepth 1 -iname 'LICENSE*' | head -n 1)
  if [ -n "$file" ]; then echo "$(sha256sum <"$file" | cut -c1-64) $package $file"; fi
done | sort -u | awk '{ names[$1] = names[$1] (names[$1] ? ", " : "") $2; files[$1] = $3 }
  END { for (hash in names) print names[hash] "\t" files[hash] }' | sort | while IFS=$'\t' read -r names file; do
  printf '%s\n\n' "$names" | fold -s -w 100
  cat "$file"
  printf '\n%s\n\n' "----------------------------------------------------------------------------"
done >"$target/LICENSES.txt"

(cd "$target" && sha256sum vega.min.js vega-lite.min.js vega-interpreter.js >SHA256SUMS)
