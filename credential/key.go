package credential

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// Key returns the name under which the login is stored; tools with the same key
// share
// it. An explicit key of the login takes precedence, then one in the scheme or the
// configured credential. The default consists of the kinds of the scheme and the
// credential and a digest of each, so it is the same in every process:
//
//	login_oauth2_1f0c9a7be2d45386_oauth2_77d0b2a6c1e94f03
//
// The digests exclude what belongs to a single login, such as tokens. They also
// exclude a
// secret that accompanies a name (of a client, a user, an account): clients see the
// key
// and could test guesses against it, and a changed password is not a new login.
func (c *Config) Key() string {
	if c == nil {
		return ""
	}
	if c.CredentialKey != "" {
		return c.CredentialKey
	}
	key := ""
	if c.Scheme != nil {
		if explicit := extraKey(c.Scheme.Extra); explicit != "" {
			return explicit
		}
		key += "_" + string(c.Scheme.kind()) + "_" + digest(c.Scheme.identity())
	}
	if c.Raw != nil {
		if explicit := extraKey(c.Raw.Extra); explicit != "" {
			return explicit
		}
		key += "_" + string(c.Raw.kind()) + "_" + digest(c.Raw.identity())
	}
	if key == "" {
		return ""
	}
	return "login" + key
}

// extraKey returns a key that is an unknown member of the object.
func extraKey(extra map[string]json.RawMessage) (key string) {
	for _, name := range []string{"credentialKey", "credential_key"} {
		if json.Unmarshal(extra[name], &key) == nil && key != "" {
			return key
		}
	}
	return ""
}

// identity returns a copy with only the members that identify the scheme.
func (s *Scheme) identity() tabled {
	out := s.Clone()
	out.Type = s.kind()
	slices.Sort(out.OpenID.Scopes)
	slices.Sort(out.OpenID.GrantTypes)
	slices.Sort(out.OpenID.TokenEndpointAuthMethods)
	return out
}

// identity returns a copy with only the members that identify the credential.
func (c *Credential) identity() tabled {
	out := c.Clone()
	out.Type, out.Extra = c.kind(), nil
	if out.OAuth2 != nil {
		for _, m := range out.OAuth2.table().members {
			if m.trait&(passing|secret) != 0 {
				m.value.clear()
			}
		}
		out.OAuth2.Extra = nil
	}
	if out.HTTP != nil {
		if out.HTTP.Username != "" {
			out.HTTP.Password = ""
		}
		out.HTTP.Extra = nil
	}
	if s := out.ServiceAccount; s != nil {
		slices.Sort(s.Scopes)
		if s.Key != nil && s.Key.ClientEmail != "" {
			s.Key = &ServiceAccountKey{ClientEmail: s.Key.ClientEmail}
		}
		s.Extra = nil
	}
	return out
}

// digest returns a short digest that is the same for all spellings of a value.
func digest(v tabled) string {
	w := writer{}
	w.object(v.table())
	doc := w.dst
	var tree any
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	if w.err == nil && dec.Decode(&tree) == nil {
		if sorted, err := json.Marshal(tree); err == nil {
			doc = sorted
		}
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:8])
}
