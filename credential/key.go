package credential

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// Key names the login where it is kept: tools with the same key share it. An
// explicit key wins, that of the login before one that the scheme or the
// configured credential carries. The default says the kinds of scheme and
// credential and a digest of each, so it is the same in every process:
//
//	login_oauth2_1f0c9a7be2d45386_oauth2_77d0b2a6c1e94f03
//
// What belongs to one login only, such as tokens, does not count. Neither does
// a secret that stands beside a name (of a client, a user, an account): clients
// see the key and could try secrets on it, and a changed password is no new
// login.
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

// extraKey is a key that came along as a member that is not of the object.
func extraKey(extra map[string]json.RawMessage) (key string) {
	for _, name := range []string{"credentialKey", "credential_key"} {
		if json.Unmarshal(extra[name], &key) == nil && key != "" {
			return key
		}
	}
	return ""
}

// identity is a copy with what makes the scheme this one.
func (s *Scheme) identity() tabled {
	out := s.Clone()
	out.Type = s.kind()
	slices.Sort(out.OpenID.Scopes)
	slices.Sort(out.OpenID.GrantTypes)
	slices.Sort(out.OpenID.TokenEndpointAuthMethods)
	return out
}

// identity is a copy with what makes the credential this one.
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

// digest is short and the same for all ways to write the same value.
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
