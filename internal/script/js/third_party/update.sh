#!/usr/bin/env bash
# Brings the JavaScript packages that the binary carries into this directory, or
# into the one that is given. Needs npm and Go.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=${1:-$here}
zod=4.6.7

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# unpack <package> <version>: its files are in ./package
unpack() {
	rm -rf package "$target/$1"
	mkdir -p "$target/$1"
	npm pack --silent "$1@$2" >/dev/null
	tar xzf "$1-$2.tgz"
}

# The modules as they are published, without types, CommonJS twins, sources and
# all languages but English.
unpack zod "$zod"
(cd package && find . -name '*.js' -not -path './src/*' -not -path './compile.js' \( -not -path '*/locales/*' -o -path '*/locales/en.js' \) -not -path './locales/*' -print0 |
	tar cf - --null -T - LICENSE package.json | tar xf - -C "$target/zod")

# All without comments and spaces: they are half of the text.
cd "$here" && go run ../minify "$target"
