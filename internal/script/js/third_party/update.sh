#!/usr/bin/env bash
# Brings the JavaScript of others that the binary carries into this directory, or
# into the one that is given. Needs npm and Go, and for the modules of Node.js the version
# of it that is named here; without that, they stay as they are.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=${1:-$here}
zod=4.6.7
webstreams=4.3.0
inspect=3.0.2 # the last one that shows values as Node.js 20 does
streams=4.8.0
node=v20.20.2

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

unpack web-streams-polyfill "$webstreams"
cp package/LICENSE package/package.json "$target/web-streams-polyfill/"
cp package/dist/ponyfill.mjs "$target/web-streams-polyfill/ponyfill.js"

unpack node-inspect-extracted "$inspect"
cp package/LICENSE package/package.json package/dist/inspect.js "$target/node-inspect-extracted/"

# Without what only leads to the same modules under other names.
unpack readable-stream "$streams"
(cd package && find lib -name '*.js' -not -name '_stream_*' -not -name browser.js -not -path lib/ours/index.js -print0 |
	tar cf - --null -T - LICENSE package.json | tar xf - -C "$target/readable-stream")

# The HTTP client. The licence of the streams is that of Node.js.
modules="_http_agent _http_client _http_common _http_incoming _http_outgoing internal/assert internal/freelist internal/http"
if [ "$(node --version)" = "$node" ]; then
	rm -rf "$target/nodejs"
	mkdir -p "$target/nodejs/internal"
	for name in $modules; do
		node --no-warnings -e 'process.stdout.write(process.binding("natives")[process.argv[1]])' "$name" >"$target/nodejs/${name#_}.js" # go:embed leaves out names that begin with _
	done
	cp package/LICENSE "$target/nodejs/"
elif [ "$target" != "$here" ]; then
	cp -r "$here/nodejs" "$target/"
fi

# All without comments and spaces: they are half of the text.
cd "$here/.."
if [ "$target" = "$here" ]; then
	go run ./minify third_party third_party.zip
else
	go run ./minify "$target"
fi
