package call

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/traceparent"
	"github.com/parley-run/parley/model"
)

const (
	connectTime = 10 * time.Second
	silence     = 5 * time.Minute
)

// shared holds the connections of all models without their own client.
var shared = sync.OnceValue(func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: connectTime, KeepAlive: 30 * time.Second}).DialContext
	t.MaxIdleConnsPerHost = 64 // there are few hosts, and many runs
	t.MaxResponseHeaderBytes = 256 << 10
	return t
})

// Transport enforces the limits of a model, and converts error responses of an API
// to errors: the status and Retry-After are known here, with any SDK.
type Transport struct {
	Base   http.RoundTripper // nil means the shared one
	Limits model.Limits
	// Parse decodes an error response in JSON.
	Parse func(*RefusalError, []byte)
}

// Client returns a client that uses t: a copy of given, or a new one.
func (t *Transport) Client(given *http.Client) *http.Client {
	client := &http.Client{}
	if given != nil {
		*client = *given
		t.Base = given.Transport
	}
	client.Transport = t
	// The APIs do not redirect, and the key must not be sent elsewhere.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = shared()
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	b := &body{caller: req.Context(), cancel: cancel, idle: orElse(t.Limits.Idle, silence)}
	first := orElse(t.Limits.FirstByte, silence)
	b.timer = time.AfterFunc(first, func() { cancel(&FailureError{Text: fmt.Sprintf("the model did not begin to answer within %v", first)}) })
	resp, err := base.RoundTrip(traceparent.Stamp(req.WithContext(ctx)))
	if err != nil {
		err = b.explain(ctx, err)
		b.end()
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		refused := readRefusal(resp, t.Parse)
		b.end()
		return nil, refused
	}
	limit := bounded.From(req.Context()).ModelResponse
	if t.Limits.ResponseBytes > 0 {
		limit = t.Limits.ResponseBytes
	}
	unit := bounded.Whole
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media == "text/event-stream" {
		unit = bounded.Event
	}
	// The events of a stream are decoded one by one, and their sizes add up.
	events := bounded.NewDecoded(resp.Body, limit, unit, "the response of the model")
	b.ReadCloser, b.ctx = bounded.NewReader(events, limit, bounded.Whole, "the response of the model"), ctx
	resp.Body = b
	return resp, nil
}

// body is a response that must not stall for too long.
type body struct {
	io.ReadCloser
	caller context.Context //nolint:containedctx // of the request, whose body this is
	ctx    context.Context //nolint:containedctx // likewise
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
	begun  bool
}

func (b *body) Read(p []byte) (int, error) {
	if b.begun {
		// Only waiting for the model counts, not the time that the reader takes.
		b.timer = time.AfterFunc(b.idle, func() { b.cancel(&FailureError{Text: fmt.Sprintf("the model said nothing more for %v", b.idle)}) })
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 || err != nil {
		b.begun = true
		b.timer.Stop()
	}
	if err != nil && err != io.EOF { //nolint:errorlint // readers return it as it is
		if err = b.explain(b.ctx, err); b.caller.Err() != nil {
			err = io.EOF // an SDK would log the failure, but a cancelled run is not one
		}
		note(b.caller, err)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}

func (b *body) end() {
	b.timer.Stop()
	b.cancel(nil)
}

// explain returns the cause of a failure.
func (b *body) explain(ctx context.Context, err error) error {
	if b.caller.Err() != nil {
		return b.caller.Err()
	}
	if late, ok := errors.AsType[*FailureError](context.Cause(ctx)); ok {
		return late
	}
	if large, ok := errors.AsType[*bounded.Error](err); ok {
		return &FailureError{Text: large.Error() + "; the operator of the server can allow more with --max_model_response_bytes (Limits.ModelResponseBytes)", Cause: large}
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	dns, noHost := errors.AsType[*net.DNSError](err)
	if untrusted || noHost && dns.IsNotFound {
		return err // which will not change the next time
	}
	return &lost{err}
}

// lost returns the error of a failed connection.
type lost struct{ error }

func (l *lost) Unwrap() error { return l.error }

// ErrCut means that a response ended early.
var ErrCut error = &lost{io.ErrUnexpectedEOF}

func orElse(d, standard time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return standard
}
