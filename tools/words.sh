#!/usr/bin/env bash
# Looks for the words in words.txt in everything that people wrote.
set -euo pipefail
cd "$(dirname "$0")/.."
found=0
while IFS=$'\t' read -r pattern instead; do
	[[ -z "$pattern" || "$pattern" == \#* ]] && continue
	if git grep -nIiwE -e "$pattern" -- . ':!tools/words.txt' ':!CONTRIBUTING.md' ':!CHANGELOG.md' \
		':!internal/webui/dist' ':!internal/webui/guide' ':!internal/script/js/third_party' ':!*package-lock.json' ':!*.sum' ':!LICENSE*' ':!CODE_OF_CONDUCT.md'; then
		echo "  ^ write instead: $instead"
		found=1
	fi
done <tools/words.txt
exit $found
