package redact

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/parley-run/parley/internal/wire"
)

// secretNames are the normalized names of members that hold secrets.
var secretNames = map[string]bool{
	"clientsecret": true, "codeverifier": true, "accesstoken": true, "refreshtoken": true, "idtoken": true,
	"authcode": true, "authresponseuri": true, "password": true, "token": true, "privatekey": true,
	"privatekeyid": true, "apikey": true, "additionalheaders": true,
}

// IsSecretName reports whether a member of that name, in any spelling, holds a secret.
func IsSecretName(name string) bool { return secretNames[wire.Fold(name)] }

// SecretsIn returns the strings in a value whose members have the name of a secret,
// at any depth and also inside strings that are JSON.
func SecretsIn(raw json.RawMessage) []string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return nil
	}
	var list []string
	collect(value, false, &list)
	return list
}

func collect(value any, named bool, list *[]string) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			collect(member, named || IsSecretName(name), list)
		}
	case []any:
		for _, item := range v {
			collect(item, named, list)
		}
	case string:
		var inner any
		switch text := strings.TrimSpace(v); {
		case strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &inner) == nil:
			collect(inner, named, list)
		case named && v != "":
			*list = append(*list, v)
		}
	}
}

// HoldsCredential reports whether a value is, or contains at any depth, a
// credential object or a login with one, in either spelling, also inside a string
// that is JSON. A credential object has an authType and one of apiKey, http, oauth2
// and serviceAccount. Such a value must not be displayed.
func HoldsCredential(raw json.RawMessage) bool {
	// All relevant names contain these letters, unless they are escaped.
	if !bytes.Contains(raw, []byte("uth")) && !bytes.Contains(raw, []byte(`\u`)) {
		return false
	}
	found := false
	err := wire.Decode(raw, func(r *wire.Reader) error { return lookNext(r, &found) })
	return err == nil && found
}

func lookNext(r *wire.Reader, found *bool) error {
	switch r.Kind() {
	case '{':
		typed, filled := false, false
		err := r.Members(func(name string) error {
			if r.Null() {
				return nil
			}
			switch wire.Camel(name) {
			case "authType":
				typed = typed || r.Kind() == '"'
			case "apiKey", "http", "oauth2", "serviceAccount":
				filled = true
			}
			return lookNext(r, found)
		})
		*found = *found || typed && filled
		return err
	case '[':
		return r.Array(func() error { return lookNext(r, found) })
	case '"':
		var s string
		if err := r.String(&s); err != nil {
			return err
		}
		s = strings.TrimSpace(s)
		if strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
			*found = *found || HoldsCredential(json.RawMessage(s))
		}
		return nil
	}
	return r.Skip()
}
