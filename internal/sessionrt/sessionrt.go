// Package sessionrt is the part of package session that only the server and its own
// stores use: outages of databases, lists of them, usage as it is stored, and what a
// change of the state means. Authors of stores need none of it, so it is not exported
// from package session.
package sessionrt

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"

	"github.com/parley-run/parley/session"
)

// IsNull reports whether v is the JSON null, which deletes a key.
func IsNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// WithoutTemp returns delta without temp: keys. It returns delta itself if there
// are none.
func WithoutTemp(delta map[string]json.RawMessage) map[string]json.RawMessage {
	for k := range delta {
		if session.ScopeOf(k) == session.ScopeTemp {
			rest := maps.Clone(delta)
			maps.DeleteFunc(rest, func(k string, _ json.RawMessage) bool { return session.ScopeOf(k) == session.ScopeTemp })
			return rest
		}
	}
	return delta
}

// EncodeModels encodes usage by model for a store; nil if there is none.
func EncodeModels(list []session.ModelUsage) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	return json.Marshal(list)
}

// DecodeModels decodes what EncodeModels has encoded.
func DecodeModels(text []byte) (list []session.ModelUsage, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	err = json.Unmarshal(text, &list)
	return list, err
}

// URLs splits a list of URLs, which are separated by commas or white space. These are
// parts of a URL unless another one follows.
func URLs(list string) []string {
	list = strings.TrimSpace(list)
	if list == "" {
		return nil
	}
	var urls []string
	start := 0
	for _, at := range nextURL.FindAllStringSubmatchIndex(list, -1) {
		urls = append(urls, list[start:at[0]])
		start = at[2]
	}
	return append(urls, list[start:])
}

var nextURL = regexp.MustCompile(`[\s,]+([a-z][a-z0-9+.-]*://)`)
