package call

import (
	"bytes"
	"strings"
)

// Providers whose signatures are marked. Those of Gemini are not: they are
// stored as clients know them.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai"
)

// Sign is a signature that goes back to one provider only. A session may
// change its model, and a provider refuses what another one has signed.
func Sign(provider, signature string) []byte { return []byte(provider + ":" + signature) }

// Signature is what the provider has signed with, if it was that one.
func Signature(provider string, signature []byte) (string, bool) {
	return strings.CutPrefix(string(signature), provider+":")
}

// Foreign reports whether a signature is marked as a provider's.
func Foreign(signature []byte) bool {
	return bytes.HasPrefix(signature, []byte(Anthropic+":")) || bytes.HasPrefix(signature, []byte(OpenAI+":"))
}
