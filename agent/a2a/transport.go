package a2a

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync/atomic"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/credential"
)

// maxBody bounds answers that are not streams.
const maxBody = 64 << 20

// call is one call of a method, which may take several requests.
type call struct {
	remote *remote
	auth   *agent.RemoteAuth // nil for none
	broken atomic.Bool       // the connection failed, or the server is not available
}

type callKey struct{}

func (r *remote) begin(ctx context.Context, auth *agent.RemoteAuth) (context.Context, *call) {
	c := &call{remote: r, auth: auth}
	return context.WithValue(ctx, callKey{}, c), c
}

// explain marks an error that another attempt may not have.
func (c *call) explain(err error) error {
	if err != nil && c.broken.Load() {
		return &agent.RemoteError{Err: err}
	}
	return err
}

// transport adds the credential of the user to requests, and bounds what is read.
type transport struct {
	base   http.RoundTripper
	origin string // that may get the credential; empty for any
}

var errOrigin = errors.New("the card of the agent names another server than its own, which does not get the credential of the user")

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c, _ := req.Context().Value(callKey{}).(*call)
	if c != nil && c.auth != nil {
		if t.origin != "" && req.URL.Scheme+"://"+req.URL.Host != t.origin {
			return nil, errOrigin
		}
		req = req.Clone(req.Context())
		if err := credential.Apply(req, c.auth.Scheme, c.auth.Credential); err != nil {
			return nil, err
		}
	}
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		if c != nil {
			c.broken.Store(true)
			c.remote.outdated()
		}
		return nil, err
	}
	if c != nil && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone) {
		c.remote.outdated() // the agent may have moved
	}
	if c != nil && (resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented || resp.StatusCode == http.StatusTooManyRequests) {
		c.broken.Store(true)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	resp.Body = &body{ReadCloser: resp.Body, call: c, left: maxBody, stream: kind == "text/event-stream"}
	return resp, nil
}

// body notes a connection that breaks while it is read.
type body struct {
	io.ReadCloser

	call   *call
	left   int
	stream bool // the reader of events bounds each of them
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && b.call != nil {
		b.call.broken.Store(true)
	}
	if b.left -= n; b.left < 0 && !b.stream {
		return 0, fmt.Errorf("the answer has more than %d MB", maxBody>>20)
	}
	return n, err
}
