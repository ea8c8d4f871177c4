package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/traceparent"
)

// transport is the connection to a server, and the cleanup after it.
type transport struct {
	sdk.Transport
	cleanUp func() // after the session is closed
}

// overhead is the maximum size of a message without its result.
const overhead = 64 << 10

func (l *link) transport(headers http.Header) (*transport, error) {
	s := l.set
	if s.cfg.Stdio != nil {
		return l.process(s.cfg.Stdio)
	}
	at := cmp.Or(s.cfg.HTTP, s.cfg.SSE)
	address, err := url.Parse(at.URL)
	if err != nil {
		return nil, err
	}
	client := http.Client{}
	if at.Client != nil {
		client = *at.Client
	}
	way := client.Transport
	idle := func() {}
	if way == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxResponseHeaderBytes = 256 << 10
		way, idle = own, own.CloseIdleConnections
	}
	client.Transport = &stamped{l, way, address, headers}
	t := &transport{cleanUp: idle}
	if s.cfg.SSE != nil {
		t.Transport = &sdk.SSEClientTransport{Endpoint: at.URL, HTTPClient: &client}
	} else {
		t.Transport = &sdk.StreamableClientTransport{Endpoint: at.URL, HTTPClient: &client}
	}
	return t, nil
}

// bound limits what the server sends, and records an excess: the SDK does not
// return read errors.
func (l *link) bound(src io.ReadCloser, unit bounded.Unit) io.ReadCloser {
	return &noting{bounded.NewDecoded(src, l.limit, unit, "what an MCP server sends at once"), l}
}

type noting struct {
	io.ReadCloser
	link *link
}

func (n *noting) Read(p []byte) (int, error) {
	read, err := n.ReadCloser.Read(p)
	if large, ok := errors.AsType[*bounded.Error](err); ok {
		n.link.large.Store(large)
	}
	return read, err
}

// stamped adds headers to requests to one server, and limits the responses.
type stamped struct {
	link    *link
	way     http.RoundTripper
	to      *url.URL
	headers http.Header
}

func (s *stamped) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == s.to.Host && r.URL.Scheme == s.to.Scheme && len(s.headers) > 0 {
		r = r.Clone(r.Context())
		maps.Copy(r.Header, s.headers)
	}
	d, _ := r.Context().Value(deliveryKey{}).(*delivery)
	first := d != nil && r.Method == http.MethodPost && d.sent.CompareAndSwap(false, true)
	resp, err := s.way.RoundTrip(traceparent.Stamp(r))
	if err != nil {
		return nil, err
	}
	if first && resp.StatusCode == http.StatusNotFound && r.Header.Get("Mcp-Session-Id") != "" {
		d.refused.Store(true)
	}
	// The response to a request ends; the stream of a session does not, and each of
	// its events counts separately.
	unit := bounded.Whole
	if r.Method == http.MethodGet {
		unit = bounded.Event
	}
	resp.Body = s.link.bound(resp.Body, unit)
	return resp, nil
}

// delivery records how far a call has come over HTTP. The SDK does not: the error
// of a call whose session the server does not know is ErrSessionMissing or
// ErrConnectionClosed, depending on which goroutine of the SDK is first.
type delivery struct {
	sent    atomic.Bool // the first request, which is the call; a cancellation may follow
	refused atomic.Bool // the server does not know the session, and has not made the call
}

type deliveryKey struct{}

// needed are the variables without which programs do not work.
var needed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TMPDIR",
	"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES",
	"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
}

// terminate is how long a process may take to end after its input has.
const terminate = time.Second

func (l *link) process(p *Stdio) (*transport, error) {
	cmd := exec.Command(p.Command, p.Args...) //nolint:gosec,noctx // the author of the agent says what to run, and its end is ours
	cmd.Dir = p.Dir
	environ := p.Environ
	if environ == nil {
		environ = os.Environ() //nolint:forbidigo // only the variables that programs need are taken from it
	}
	cmd.Env = []string{} // nil would mean the whole environment
	for _, one := range environ {
		if name, _, _ := strings.Cut(one, "="); slices.ContainsFunc(needed, func(n string) bool { return strings.EqualFold(n, name) }) {
			cmd.Env = append(cmd.Env, one)
		}
	}
	cmd.Env = append(cmd.Env, p.Env...)
	cmd.Stderr = &lines{log: l.set.log}
	cmd.WaitDelay = terminate // for its child processes, which may hold its output open
	isolate(cmd)
	end := sync.OnceFunc(func() {
		if cmd.Process != nil {
			killAll(cmd)
		}
	})
	return &transport{
		Transport: &running{cmd, l},
		cleanUp:   end,
	}, nil
}

// running is a process that speaks the protocol. Its output is limited line by
// line.
type running struct {
	cmd  *exec.Cmd
	link *link
}

// Connect starts the process.
func (r *running) Connect(ctx context.Context) (sdk.Connection, error) {
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	in, err := r.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	said := &sdk.IOTransport{
		Reader: io.NopCloser(r.link.bound(out, bounded.Line)), Writer: &input{in, r.cmd},
		MaxLineLength: -1, // the reader has a limit
	}
	return said.Connect(ctx)
}

// input is the standard input of a process. Closing it ends the process, by force
// if necessary.
type input struct {
	io.WriteCloser
	cmd *exec.Cmd
}

// Close waits until the process has ended.
func (i *input) Close() error {
	err := i.WriteCloser.Close()
	late := time.AfterFunc(terminate, func() { killAll(i.cmd) })
	defer late.Stop()
	return errors.Join(err, i.cmd.Wait())
}

// lines logs what is written, line by line.
type lines struct {
	log *slog.Logger
	buf []byte
}

const maxLine = 4 << 10

func (l *lines) Write(p []byte) (int, error) {
	l.buf = append(l.buf, p...)
	for {
		at := bytes.IndexByte(l.buf, '\n')
		if at < 0 && len(l.buf) < maxLine {
			return len(p), nil
		}
		if at < 0 || at > maxLine {
			at = maxLine - 1
		}
		if text := strings.TrimSpace(string(l.buf[:at])); text != "" {
			l.log.Debug("the server says", "text", strings.ToValidUTF8(text, ""))
		}
		l.buf = l.buf[at+1:]
	}
}
