#!/usr/bin/env bash
# Brings the JavaScript packages that the binary carries into this directory, or
# into the one that is given. Needs npm.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=${1:-$here}
zod=4.6.7

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent "zod@$zod" >/dev/null
tar xzf "zod-$zod.tgz"

# The modules as they are published, without types, CommonJS twins, sources and
# all languages but English.
rm -rf "$target/zod"
mkdir -p "$target/zod"
cd package
find . -name '*.js' -not -path './src/*' -not -path './compile.js' \( -not -path '*/locales/*' -o -path '*/locales/en.js' \) -not -path './locales/*' -print0 |
	tar cf - --null -T - LICENSE package.json | tar xf - -C "$target/zod"
