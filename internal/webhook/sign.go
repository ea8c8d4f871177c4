package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The secrets of the Standard Webhooks specification: a prefix, and Base64 of 24 to 64
// bytes.
const (
	secretPrefix = "whsec_"
	minSecret    = 24
	maxSecret    = 64
)

// newSecret returns a new secret.
func newSecret() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it does not fail
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// keyOf returns the key of a secret, or nil if it is not one.
func keyOf(secret string) []byte {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok || len(text) > 2*maxSecret {
		return nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) < minSecret || len(key) > maxSecret {
		return nil
	}
	return key
}

// sign returns the headers of the Standard Webhooks specification. Without secrets there
// is no signature.
func sign(id string, at time.Time, body []byte, secrets ...string) http.Header {
	second := strconv.FormatInt(at.Unix(), 10)
	h := http.Header{"Content-Type": {"application/json"}, "Webhook-Id": {id}, "Webhook-Timestamp": {second}}
	var list []string
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, keyOf(secret))
		_, _ = mac.Write([]byte(id + "." + second + "."))
		_, _ = mac.Write(body)
		list = append(list, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if len(list) > 0 {
		h["Webhook-Signature"] = []string{strings.Join(list, " ")}
	}
	return h
}
