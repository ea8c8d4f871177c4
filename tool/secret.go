package tool

import "github.com/parley-run/parley/internal/redact"

// SecretPrefix begins the keys of the state that only tools can read: it is "secret:".
const SecretPrefix = redact.SecretPrefix

// IsSecret reports whether only tools can read a key of the state.
func IsSecret(key string) bool { return redact.IsSecretKey(key) }
