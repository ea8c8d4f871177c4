package host

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/parley-run/parley/internal/script/host/keys"
)

// maxRandom is what one call may take from the random source.
const maxRandom = 1 << 20

func random(n int) (any, error) {
	if n < 0 || n > maxRandom {
		return nil, errTooBig
	}
	out := make([]byte, n)
	_, _ = rand.Read(out) // it never fails
	return base64.StdEncoding.EncodeToString(out), nil
}

// digest hashes data, with a key if there is one.
func digest(m struct {
	Algorithm, Data string
	Key             *string
},
) (any, error) {
	kind, err := keys.Digest(m.Algorithm)
	if err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(m.Data)
	if err != nil {
		return nil, err
	}
	sum := kind.New()
	if m.Key != nil {
		key, err := base64.StdEncoding.DecodeString(*m.Key)
		if err != nil {
			return nil, err
		}
		sum = hmac.New(kind.New, key)
	}
	sum.Write(data)
	return base64.StdEncoding.EncodeToString(sum.Sum(nil)), nil
}

func encodeUTF8(text string) (string, error) {
	return base64.StdEncoding.EncodeToString([]byte(text)), nil
}

// decodeUTF8 replaces what is not UTF-8 as the Encoding Standard says: one
// U+FFFD for each longest beginning of a character that is broken off.
func decodeUTF8(payload string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(payload)
	if err != nil {
		return "", err
	}
	if utf8.Valid(b) {
		return string(b), nil
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = broken(b)
		}
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String(), nil
}

// broken counts the bytes at the beginning of b that one U+FFFD stands for.
func broken(b []byte) int {
	low, high, more := byte(0x80), byte(0xBF), 0
	switch lead := b[0]; {
	case lead >= 0xC2 && lead <= 0xDF:
		more = 1
	case lead >= 0xE0 && lead <= 0xEF:
		more = 2
	case lead >= 0xF0 && lead <= 0xF4:
		more = 3
	}
	switch b[0] {
	case 0xE0:
		low = 0xA0
	case 0xED:
		high = 0x9F
	case 0xF0:
		low = 0x90
	case 0xF4:
		high = 0x8F
	}
	n := 1
	for n <= more && n < len(b) && b[n] >= low && b[n] <= high {
		low, high = 0x80, 0xBF
		n++
	}
	return n
}

func strictUTF8(payload string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(payload)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", coded("ERR_ENCODING_INVALID_ENCODED_DATA", "the encoded data was not valid for encoding utf-8")
	}
	return string(b), nil
}
