package wire

import (
	"strings"
	"unicode"
)

// Camel turns snake_case into camelCase and leaves everything else alone.
func Camel(name string) string {
	i := strings.IndexByte(name, '_')
	if i <= 0 {
		return name
	}
	b := make([]byte, 0, len(name))
	b = append(b, name[:i]...)
	up := false
	for ; i < len(name); i++ {
		switch c := name[i]; {
		case c == '_' && !up && i < len(name)-1:
			up = true
		case c == '_': // doubled or at the end: not snake_case
			return name
		case up && 'a' <= c && c <= 'z':
			b, up = append(b, c-'a'+'A'), false
		default:
			b, up = append(b, c), false
		}
	}
	return string(b)
}

// Fold normalizes a name whose spelling does not matter: it ignores case, _ and -.
func Fold(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '_' || c == '-' {
			return -1
		}
		return unicode.ToLower(c)
	}, name)
}
