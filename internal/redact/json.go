package redact

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/parley-run/parley/internal/passthrough"
)

// JSON returns a JSON document without secrets, or doc itself if it contains none. The result is valid JSON, and the
// member names of the contract are kept: a secret that equals one of them is not revealed by it.
func (s *Set) JSON(doc []byte) []byte {
	list := s.secrets()
	if !slices.ContainsFunc(list, func(one secret) bool { return one.in(doc) }) {
		return doc
	}
	out := make([]byte, 0, len(doc))
	for len(doc) > 0 {
		c := doc[0]
		switch {
		case c == '"':
			n := quoted(doc)
			text := doc[:n]
			doc = doc[n:]
			if !isName(doc) || !contractNames[string(text)] {
				text = scrubString(list, text)
			}
			out = append(out, text...)
		case isNumeral(c):
			n := 1
			for n < len(doc) && isNumeral(doc[n]) {
				n++
			}
			out = append(out, scrubNumber(list, doc[:n])...)
			doc = doc[n:]
		default:
			out, doc = append(out, c), doc[1:]
		}
	}
	return out
}

// quoted returns the length of the string that doc begins with.
func quoted(doc []byte) int {
	for i := 1; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(doc)
}

// isName reports whether a string is a member name, by what follows.
func isName(rest []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":")) }

func isNumeral(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// scrubString removes secrets from a string.
func scrubString(list []secret, text []byte) []byte {
	for _, one := range list {
		for _, v := range one.variants {
			text = replace(text, v, one.instead)
		}
	}
	return text
}

// replace replaces a secret in a string, but not where it would begin in the middle of an escape sequence.
func replace(text, word, instead []byte) []byte {
	if !bytes.Contains(text, word) {
		return text
	}
	var out []byte
	for i := 0; i < len(text); {
		n := 1
		switch {
		case bytes.HasPrefix(text[i:], word):
			out, i = append(out, instead...), i+len(word)
			continue
		case text[i] == '\\' && i+1 < len(text):
			n = 2
		}
		out, i = append(out, text[i:i+n]...), i+n
	}
	return out
}

// scrubNumber removes secrets from a number. The result is a number.
func scrubNumber(list []secret, number []byte) []byte {
	clean := number
	for _, one := range list {
		for _, v := range one.variants {
			clean = bytes.ReplaceAll(clean, v, []byte("1"))
		}
	}
	if !bytes.Equal(clean, number) && !json.Valid(clean) {
		return []byte("1")
	}
	return clean
}

// contractNames are the member names of events, and of the logins and questions in them, as they appear in JSON. It
// omits names that are shorter than any secret.
var contractNames = func() map[string]bool {
	names := map[string]bool{}
	for _, list := range [][]string{
		{
			"artifactDelta", "cachedContentTokenCount", "candidatesTokenCount", "codeExecutionResult", "customMetadata", "displayName",
			"endOfAgent", "errorCode", "errorMessage", "escalate", "executableCode", "fileData", "finishReason", "functionCall",
			"functionResponse", "inlineData", "interrupted", "invocationId", "language", "longRunningToolIds", "mimeType", "modelVersion",
			"promptTokenCount", "requestedAuthConfigs", "requestedToolConfirmations", "response", "rewindBeforeInvocationId",
			"skipSummarization", "stateChanges", "stateDelta", "thoughtSignature", "thoughtsTokenCount", "timestamp", "toolUsePromptTokenCount",
			"totalTokenCount", "transferToAgent", "turnComplete", "usageMetadata", "willContinue",
		},
		passthrough.Event(), passthrough.Actions(), passthrough.Part(), passthrough.Usage(),
		{ // of questions
			"authConfig", "confirmed", "functionCallId", "originalFunctionCall", "otherFunctionCallIds", "toolConfirmation",
		},
		{ // of logins
			"accessToken", "additionalHeaders", "audience", "authCode", "authProviderX509CertUrl", "authResponseUri", "authScheme",
			"authType", "authorizationCode", "authorizationEndpoint", "authorizationUrl", "bearerFormat", "clientCredentials",
			"clientEmail", "clientId", "clientSecret", "clientX509CertUrl", "codeChallengeMethod", "codeVerifier", "credentialKey",
			"credentials", "description", "exchangedAuthCredential", "expiresAt", "expiresIn", "grantTypesSupported", "implicit",
			"openIdConnectUrl", "password", "privateKey", "privateKeyId", "projectId", "rawAuthCredential", "redirectUri", "refreshToken",
			"refreshUrl", "resourceRef", "revocationEndpoint", "serviceAccount", "serviceAccountCredential", "tokenEndpoint",
			"tokenEndpointAuthMethod", "tokenEndpointAuthMethodsSupported", "tokenUri", "tokenUrl", "universeDomain",
			"useDefaultCredential", "useIdToken", "userinfoEndpoint", "username",
		},
	} {
		for _, name := range list {
			names[`"`+name+`"`] = true
		}
	}
	return names
}()
