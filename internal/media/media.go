// Package media knows the types of files.
package media

import (
	"mime"
	"slices"
	"strings"
)

// Kind is a type without its parameters.
func Kind(mimeType string) string {
	kind, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return strings.ToLower(mimeType)
	}
	return kind
}

// textual are the kinds of text that do not look like one.
var textual = []string{
	"application/csv", "application/javascript", "application/json", "application/sql", "application/toml",
	"application/x-yaml", "application/xml", "application/yaml",
}

// IsText reports whether files of a type can be read as text.
func IsText(mimeType string) bool {
	kind := Kind(mimeType)
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") ||
		slices.Contains(textual, kind)
}
