package openapi

import (
	"strconv"
	"strings"
	"unicode"
)

// maxName limits the name of a tool. Some models accept 64 characters.
const maxName = 60

func isWord(c rune) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// snake converts a name to snake_case: listUserPETs-v2 to list_user_pe_ts_v2,
// HTTPServer to http_server. It drops characters outside of ASCII.
func snake(name string) string {
	var b strings.Builder
	chars := []rune(name)
	gap := false // whether a word ended before this character
	for i, c := range chars {
		if !isWord(c) || c == '_' {
			gap = true
			continue
		}
		if unicode.IsUpper(c) && i > 0 {
			prev := chars[i-1]
			wordGoesOn := i+1 < len(chars) && chars[i+1] >= 'a' && chars[i+1] <= 'z'
			gap = gap || unicode.IsLower(prev) || unicode.IsDigit(prev) || unicode.IsUpper(prev) && wordGoesOn
		}
		if gap && b.Len() > 0 {
			b.WriteByte('_')
		}
		gap = false
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// toolName returns the name of an operation's tool.
func toolName(operationID, method, path string) string {
	name := snake(operationID)
	if name == "" {
		name = snake(method + " " + path)
	}
	if name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// unique returns a free name of at most limit characters, and reserves it. If the
// name is taken, it adds the first suffix that makes it unique, or a number.
func unique(taken map[string]bool, name string, limit int, suffixes ...string) string {
	cut := func(suffix string) string {
		space := limit - len(suffix)
		if len(name) > space {
			return strings.TrimRight(strings.ToValidUTF8(name[:space], ""), "_") + suffix
		}
		return name + suffix
	}
	free := cut("")
	for _, suffix := range suffixes {
		if taken[free] {
			free = cut(suffix)
		}
	}
	for n := 2; taken[free]; n++ {
		free = cut("_" + strconv.Itoa(n))
	}
	taken[free] = true
	return free
}
