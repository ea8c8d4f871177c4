package call

import (
	"bytes"
	"strings"
)

// Providers whose signatures are marked. Those of Gemini are not: they are stored
// in the form that clients know.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai"
)

// Sign marks a signature with its provider. A session may change its model, and a
// provider rejects the signatures of others.
func Sign(provider, signature string) []byte { return []byte(provider + ":" + signature) }

// Signature returns the original signature, if it is from that provider.
func Signature(provider string, signature []byte) (string, bool) {
	return strings.CutPrefix(string(signature), provider+":")
}

// Foreign reports whether a signature is marked with a provider.
func Foreign(signature []byte) bool {
	return bytes.HasPrefix(signature, []byte(Anthropic+":")) || bytes.HasPrefix(signature, []byte(OpenAI+":"))
}
