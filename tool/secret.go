package tool

import "strings"

// SecretPrefix begins the keys of the state that only tools can read.
const SecretPrefix = "secret:"

// IsSecret reports whether only tools can read a key of the state.
func IsSecret(key string) bool { return strings.HasPrefix(key, SecretPrefix) }
