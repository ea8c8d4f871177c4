#!/usr/bin/env bash
# Looks for the words in words.txt in everything that people wrote, and in the parts of
# identifiers in camel case.
set -euo pipefail
cd "$(dirname "$0")/.."

# Files that are generated, locked or copied, and those whose subject is the words.
# Steps of migrations never change. pgtest looks up the system user nobody.
skip=(
	':!tools/words.*' ':!CONTRIBUTING.md' ':!CHANGELOG.md' ':!LICENSE*' ':!CODE_OF_CONDUCT.md'
	':!internal/webui/dist' ':!internal/webui/guide' ':!internal/script/js/third_party'
	':!*package-lock.json' ':!*.sum' ':!session/*/migrations/*' ':!*/node_modules/*'
	':!internal/testkit/pgtest/process_unix.go'
)
# Names of others, messages in tests, and values that are stored or sent and so cannot change: that of
# agentrt.Expired is compared with stored logs.
allowed='"meanwhile"|"user meanwhile"|meanwhile := |\{meanwhile\}|http\.NoBody|"Nobody has answered in time: the call is over\."|"nobody@example\.com"'

# Identifiers with spaces between their parts: sqlUnsaid is "sql Unsaid".
parts=$(git grep -ohIE '\b[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*\b' -- '*.go' '*.ts' '*.tsx' '*.js' '*.mjs' "${skip[@]}" |
	sort -u | sed -E 's/([a-z0-9])([A-Z])/\1 \2/g; s/([A-Z])([A-Z][a-z])/\1 \2/g')

found=0
while IFS=$'\t' read -r pattern instead; do
	[[ -z "$pattern" || "$pattern" == \#* ]] && continue
	patterns=(-e "$pattern")
	while read -r words; do
		[[ -z "$words" ]] || patterns+=(-e "${words// /}")
	done < <(grep -iwE -e "$pattern" <<<"$parts")
	if git grep -nIiwE "${patterns[@]}" -- . "${skip[@]}" | grep -vE "$allowed"; then
		echo "  ^ write instead: $instead"
		found=1
	fi
done <tools/words.txt
exit $found
