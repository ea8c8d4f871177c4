package host

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/public"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/internal/traceparent"
)

// defaultClient has no time limit for bodies: they may be streams, and end with
// the call or with the signal that was given to fetch.
var defaultClient = &http.Client{Transport: defaultTransport()}

func defaultTransport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.ResponseHeaderTimeout = 5 * time.Minute // as Node.js
	return t
}

const (
	userAgent    = "parley"
	maxRedirects = 20       // as the Fetch Standard says
	chunkSize    = 32 << 10 // bytes of a body in one message
	readAhead    = 2        // chunks of a body that wait to be asked for

	// maxPause is how long a body may stay unread. A response that JavaScript has
	// dropped may stay in the memory of the engine for long, and must not occupy
	// the connection; in particular if it does not end with a call.
	maxPause      = 10 * time.Minute
	maxStrayPause = 30 * time.Second
)

type fetchRequest struct {
	URL      string      `json:"url"`
	Method   string      `json:"method"`
	Headers  [][2]string `json:"headers"`
	Body     *string     `json:"body"` // base64
	Redirect string      `json:"redirect"`
	Stray    bool        `json:"stray"` // the call that it belongs to is not known
}

// fetchHead is the first item of a fetch. The others are chunks of the body, in
// base64.
type fetchHead struct {
	Status     int         `json:"status"`
	StatusText string      `json:"statusText"`
	URL        string      `json:"url"`
	Redirected bool        `json:"redirected"`
	Headers    [][2]string `json:"headers"`
}

// fetch is an HTTP request of JavaScript.
func (h *Host) fetch(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var m fetchRequest
	if err := json.Unmarshal(params, &m); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := newRequest(ctx, m)
	if err != nil {
		return err
	}
	if err := h.slots.acquire(ctx); err != nil {
		return err
	}
	client := *h.Client
	client.CheckRedirect = checkRedirect(m.Redirect)
	resp, err := client.Do(traceparent.Stamp(req))
	if err != nil {
		h.slots.release()
		return networkError(err)
	}
	// The body is read while JavaScript handles the head: a small one releases its
	// connection even if the code never reads it.
	limited := bounded.NewReader(decoded(resp), h.MaxResponse, bounded.Whole, "a response to fetch")
	body := readBody(ctx, limited, h.slots.release)
	defer func() {
		cancel(nil)
		<-body.over
	}()
	head := fetchHead{
		Status:     resp.StatusCode,
		StatusText: strings.TrimSpace(strings.TrimPrefix(resp.Status, fmt.Sprint(resp.StatusCode))),
		URL:        resp.Request.URL.String(),
		Redirected: resp.Request.Response != nil,
	}
	for name, values := range resp.Header {
		for _, v := range values {
			head.Headers = append(head.Headers, [2]string{strings.ToLower(name), v})
		}
	}
	pause := maxPause
	if m.Stray {
		pause = h.strayPause
	}
	idle := time.AfterFunc(pause, func() { cancel(errUnread) })
	defer idle.Stop()
	// Once everything was received, JavaScript gets the rest without asking for it,
	// and nothing in Go waits until the code reads it.
	if err := yield(engine.Early{Item: head, Free: body.over}); err != nil {
		return err
	}
	for idle.Reset(maxPause); ; idle.Reset(maxPause) {
		chunk, ok := <-body.chunks
		if !ok {
			return body.err
		}
		idle.Reset(pause)
		if err := yield(engine.Early{Item: base64.StdEncoding.EncodeToString(chunk), Free: body.over}); err != nil {
			return err
		}
	}
}

var errUnread = coded("UND_ERR_BODY_TIMEOUT", "the response was not read for too long, and was dropped")

func newRequest(ctx context.Context, m fetchRequest) (*http.Request, error) {
	u, err := url.Parse(m.URL)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", withoutAddress(err))
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, coded("ERR_INVALID_URL_SCHEME", "fetch speaks http and https, not %q", u.Scheme)
	}
	var body io.Reader
	if m.Body != nil {
		data, err := base64.StdEncoding.DecodeString(*m.Body)
		if err != nil {
			return nil, fmt.Errorf("read the request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, m.Method, m.URL, body)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "*/*")
	seen := map[string]bool{}
	for _, header := range m.Headers {
		name, value := http.CanonicalHeaderKey(header[0]), header[1]
		switch name {
		case "Host":
			req.Host = value
		case "Content-Length", "Connection", "Transfer-Encoding", "Upgrade", "Keep-Alive", "Te", "Trailer":
			// They belong to the connection, which net/http manages.
		default:
			if !seen[name] {
				req.Header.Del(name)
			}
			seen[name] = true
			req.Header.Add(name, value)
		}
	}
	if !seen["Accept-Encoding"] {
		req.Header.Set("Accept-Encoding", accepted(u.Scheme, seen["Range"]))
	}
	return req, nil
}

var errRedirect = errors.New("unexpected redirect")

func checkRedirect(mode string) func(*http.Request, []*http.Request) error {
	return func(_ *http.Request, via []*http.Request) error {
		switch {
		case mode == "manual":
			return http.ErrUseLastResponse
		case mode == "error":
			return errRedirect
		case len(via) > maxRedirects:
			return errors.New("redirect count exceeded")
		}
		return nil
	}
}

// body is one that is being read.
type body struct {
	chunks chan []byte
	over   chan struct{} // closed when no more will come than what is in chunks
	err    error         // how it ended; to be read after chunks is closed
}

// readBody reads a body, closes it, and calls after.
func readBody(ctx context.Context, from io.ReadCloser, after func()) *body {
	b := &body{chunks: make(chan []byte, readAhead), over: make(chan struct{})}
	go func() {
		defer close(b.over)
		defer close(b.chunks)
		b.err = b.read(ctx, from)
		_ = from.Close()
		after()
	}()
	return b
}

func (b *body) read(ctx context.Context, from io.Reader) error {
	for {
		buf := make([]byte, chunkSize)
		n, err := from.Read(buf)
		if n > 0 {
			select {
			case b.chunks <- buf[:n]:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return bodyError(err)
		}
	}
}

// bodyError is the error of reading a body.
func bodyError(err error) error {
	if large, ok := errors.AsType[*bounded.Error](err); ok {
		return coded("UND_ERR_RES_EXCEEDED_MAX_SIZE", "%w; the operator of the server can allow more (--max_model_response_bytes)", large)
	}
	return networkError(err)
}

// withoutAddress returns an error without the address, which may contain secrets.
func withoutAddress(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// networkError gives an error the code that it has in Node.js: programs use it to
// decide whether to retry.
func networkError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var (
		refused   *public.RefusedError
		dns       *net.DNSError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		timeout   net.Error
	)
	err = withoutAddress(err)
	code := ""
	switch {
	case errors.As(err, &refused):
		return coded("EACCES", "%w; the operator of the server can permit it (--allow_hosts_for_agents)", refused)
	case errors.As(err, &dns):
		code = "ENOTFOUND"
		if dns.IsTimeout || dns.IsTemporary {
			code = "EAI_AGAIN"
		}
	case errors.Is(err, syscall.ECONNREFUSED):
		code = "ECONNREFUSED"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF):
		code = "ECONNRESET"
	case errors.Is(err, io.ErrUnexpectedEOF):
		code = "UND_ERR_SOCKET"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		code = "EHOSTUNREACH"
	case errors.As(err, &authority):
		code = "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
	case errors.As(err, &hostname):
		code = "ERR_TLS_CERT_ALTNAME_INVALID"
	case errors.As(err, &invalid):
		code = "CERT_INVALID"
	case errors.As(err, &record):
		code = "EPROTO"
	case errors.As(err, &timeout) && timeout.Timeout():
		code = "ETIMEDOUT"
	}
	if code == "" {
		return err
	}
	return &codedError{code, err}
}
