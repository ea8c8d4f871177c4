package call

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/model"
)

// trip is a transport that is a function.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func respond(status int, body io.Reader, header ...string) *http.Response {
	resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body)}
	for i := 0; i < len(header); i += 2 {
		resp.Header.Set(header[i], header[i+1])
	}
	return resp
}

// fetch is an Ask that says the body of the response.
func fetch(client *http.Client) Ask {
	return func(ctx context.Context, _ func(*model.Response) bool) (*model.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://model.test/", nil)
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		doc, err := io.ReadAll(resp.Body)
		return model.Text(string(doc)), err
	}
}

func end(t *testing.T, c *Caller, ask Ask) string {
	t.Helper()
	for resp, err := range c.Generate(t.Context(), ask) {
		if err != nil {
			return "error: " + err.Error()
		}
		if resp.ErrorCode != "" {
			return resp.ErrorCode + ": " + resp.ErrorMessage
		}
		return resp.Content.Text()
	}
	return "nothing"
}

func TestWhatIsAskedAgain(t *testing.T) {
	fail := func(err error) func() (*http.Response, error) {
		return func() (*http.Response, error) { return nil, err }
	}
	refuse := func(status int, header ...string) func() (*http.Response, error) {
		return func() (*http.Response, error) { return respond(status, strings.NewReader("No."), header...), nil }
	}
	for _, tt := range []struct {
		name   string
		answer func() (*http.Response, error) // to the first request
		limits model.Limits
		want   string
		least  time.Duration // 0 when it is not asked again
	}{
		{"a refused connection", fail(&net.OpError{Op: "dial", Err: errors.New("refused")}), model.Limits{}, "ok", 500 * time.Millisecond},
		{"an unknown host", fail(&net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}), model.Limits{}, "error: the call of the API failed: lookup x: no such host", 0},
		{"a server that is not trusted", fail(&tls.CertificateVerificationError{Err: errors.New("expired")}), model.Limits{}, "error: the call of the API failed: tls: failed to verify certificate: expired", 0},
		{"one try only", refuse(503), model.Limits{Tries: 1}, "UNAVAILABLE: No.", 0},
		{"not to be tried again", refuse(503, "X-Should-Retry", "false"), model.Limits{}, "UNAVAILABLE: No.", 0},
		{"in milliseconds", refuse(429, "Retry-After-Ms", "7500"), model.Limits{}, "ok", 7500 * time.Millisecond},
		{"at a time", refuse(429, "Retry-After", "Sat, 01 Jan 2000 00:00:20 GMT"), model.Limits{}, "ok", 20 * time.Second},
		{"what is odd", refuse(429, "Retry-After", "soon"), model.Limits{}, "ok", 500 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // in which it is the year 2000
				asked := 0
				transport := &Transport{Limits: tt.limits, Parse: func(*RefusalError, []byte) {}}
				client := transport.Client(&http.Client{Transport: trip(func(*http.Request) (*http.Response, error) {
					if asked++; asked == 1 {
						return tt.answer()
					}
					return respond(200, strings.NewReader("ok")), nil
				})})
				began := time.Now()
				if got := end(t, &Caller{API: "the API", Limits: tt.limits}, fetch(client)); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				if took := time.Since(began); took < tt.least || took > tt.least*3/2 {
					t.Errorf("waited %v, want about %v", took, tt.least)
				}
			})
		})
	}
}

// TestSlowReader has a reader who takes longer than the model may: that is no
// silence of the model.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		go func() {
			for range 3 {
				_, _ = io.WriteString(w, "x")
			}
			w.Close()
		}()
		transport := &Transport{Limits: model.Limits{FirstByte: time.Second, Idle: time.Second}, Base: trip(func(*http.Request) (*http.Response, error) { return respond(200, r), nil })}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://model.test/", nil)
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		one := make([]byte, 1)
		for range 3 {
			if _, err := resp.Body.Read(one); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		if _, err := resp.Body.Read(one); err != io.EOF {
			t.Error(err)
		}
	})
}

func TestSecrets(t *testing.T) {
	c := &Caller{Secrets: Secrets("sk-1", map[string]string{
		"Authorization": "Bearer topsecret-token-999", "X-Key": "topsecret-token", "X-Team": "blue", "X-Both": "Token  one-secret two-secret",
	})}
	for text, want := range map[string]string{
		"bad key topsecret-token-999":             "bad key [redacted]",
		"not 'Bearer topsecret-token-999'":        "not '[redacted]'",
		"Bearer of topsecret-token and of sk-1":   "Bearer of [redacted] and of [redacted]",
		"two-secret,one-secret: no Token of blue": "[redacted],[redacted]: no Token of blue",
	} {
		if got := c.Show(text); got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

func TestID(t *testing.T) {
	for id, want := range map[string]string{"call_1": "call_1", "parley-0123": "parley-0123", "": "call_f"} {
		if got := ID(id, "f"); got != want {
			t.Errorf("%q becomes %q", id, got)
		}
	}
	for _, odd := range []string{"c1~1", strings.Repeat("x", 41), "a b", "é"} {
		got := ID(odd, "f")
		if !plainID.MatchString(got) || got != ID(odd, "f") || got == ID(odd+"'", "f") {
			t.Errorf("%q becomes %q", odd, got)
		}
	}
}

func TestArguments(t *testing.T) {
	for text, want := range map[string]string{"": "{}", " null ": "{}", ` {"a":1} `: `{"a":1}`} {
		if got, ok := Arguments(text, false); !ok || string(got) != want {
			t.Errorf("%q becomes %s, %t", text, got, ok)
		}
	}
	for _, text := range []string{`{"a":`, `[]`, `"x"`, `{}{}`} {
		if got, ok := Arguments(text, false); ok {
			t.Errorf("%q becomes %s", text, got)
		}
	}
	for text, want := range map[string]bool{"": false, "null": false, "{}": true, `{"a":1}`: true, "{": false} {
		if got, ok := Arguments(text, true); ok != want {
			t.Errorf("%q at the end becomes %s, %t", text, got, ok)
		}
	}
}
