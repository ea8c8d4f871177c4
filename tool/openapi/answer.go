package openapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/toolresult"
)

// maxProblem is how many bytes of a response an error message includes.
const maxProblem = 1000

// answer is a complete response.
type answer struct {
	status  int
	line    string // 404 Not Found
	header  http.Header
	media   string
	body    []byte
	cut     error // why it is incomplete; nil if it is complete
	secrets []string
}

func read(ctx context.Context, resp *http.Response, secrets []string) (*answer, error) {
	a := &answer{status: resp.StatusCode, line: strings.TrimSpace(resp.Status), header: resp.Header, secrets: secrets}
	a.media, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var err error
	a.body, err = io.ReadAll(bounded.NewResult(ctx, resp.Body))
	if _, large := errors.AsType[*bounded.Error](err); large {
		a.cut, err = err, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	return a, nil
}

// refused reports whether the API refused the credential.
func (a *answer) refused() bool {
	return a.status == http.StatusUnauthorized || a.status == http.StatusForbidden
}

// result returns the result for the model.
func (o *operation) result(a *answer) any {
	if a.status < 200 || a.status > 299 {
		text := o.at + ": " + a.line
		if said := a.problem(); said != "" {
			text += ": " + said
		}
		return toolresult.Error(hide(text, a.secrets))
	}
	if o.method == http.MethodHead {
		return a.headers()
	}
	if len(a.body) == 0 {
		return map[string]any{"status": "success"}
	}
	isJSON := strings.HasSuffix(a.media, "json")
	if isJSON || a.body[0] == '{' || a.body[0] == '[' {
		if a.cut != nil {
			return toolresult.Error(fmt.Sprintf("%s: %v: ask for less", o.at, a.cut))
		}
		if out, err := toolresult.Of(json.RawMessage(a.body)); err == nil {
			return out
		}
	}
	return a.plain(isJSON)
}

// plain returns the result of a response that is not JSON.
func (a *answer) plain(isText bool) any {
	isText = isText || strings.HasPrefix(a.media, "text/") || strings.HasSuffix(a.media, "xml")
	text := a.body
	if a.cut != nil { // perhaps in the middle of a character
		for n := 0; n < utf8.UTFMax && len(text) > 0 && !utf8.RuneStart(text[len(text)-1]); n++ {
			text = text[:len(text)-1]
		}
		if len(text) > 0 && text[len(text)-1] >= utf8.RuneSelf {
			text = text[:len(text)-1]
		}
	}
	out := map[string]any{}
	if isText || utf8.Valid(text) {
		out["text"] = strings.ToValidUTF8(string(text), "\uFFFD")
	} else {
		out["content_type"] = a.media
		out["base64"] = base64.StdEncoding.EncodeToString(a.body)
	}
	if a.cut != nil {
		out["truncated"] = true
	}
	return out
}

// headers returns the result of a HEAD request.
func (a *answer) headers() any {
	out := map[string]any{"status": "success"}
	for _, name := range []string{"Content-Type", "Content-Length", "Last-Modified", "Etag"} {
		if v := a.header.Get(name); v != "" {
			out[strings.ToLower(strings.ReplaceAll(name, "-", "_"))] = v
		}
	}
	return out
}

// problem returns the beginning of the API's error message.
func (a *answer) problem() string {
	text := hide(strings.TrimSpace(strings.ToValidUTF8(string(a.body), "\uFFFD")), a.secrets)
	if len(text) > maxProblem {
		text = strings.ToValidUTF8(text[:maxProblem], "") + "…"
	}
	return text
}
