package mcp

import (
	"bytes"
	"cmp"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-run/parley/internal/traceparent"
)

// transport is the way to a server, and what is left to do after it.
type transport struct {
	sdk.Transport
	cleanUp func() // after the session is closed
}

func (s *Toolset) transport(headers http.Header) (*transport, error) {
	if s.cfg.Stdio != nil {
		return s.process(s.cfg.Stdio)
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
		way, idle = own, own.CloseIdleConnections
	}
	client.Transport = &stamped{way, address, headers}
	t := &transport{cleanUp: idle}
	if s.cfg.SSE != nil {
		t.Transport = &sdk.SSEClientTransport{Endpoint: at.URL, HTTPClient: &client}
	} else {
		t.Transport = &sdk.StreamableClientTransport{Endpoint: at.URL, HTTPClient: &client}
	}
	return t, nil
}

// stamped adds headers to requests that go to one server.
type stamped struct {
	way     http.RoundTripper
	to      *url.URL
	headers http.Header
}

func (s *stamped) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == s.to.Host && r.URL.Scheme == s.to.Scheme && len(s.headers) > 0 {
		r = r.Clone(r.Context())
		maps.Copy(r.Header, s.headers)
	}
	return s.way.RoundTrip(traceparent.Stamp(r))
}

// needed are the variables without which programs do not work.
var needed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TMPDIR",
	"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES",
	"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
}

// terminate is how long a process has to end after its input has.
const terminate = time.Second

func (s *Toolset) process(p *Stdio) (*transport, error) {
	cmd := exec.Command(p.Command, p.Args...) //nolint:gosec,noctx // the author of the agent says what to run, and its end is ours
	cmd.Dir = p.Dir
	environ := p.Environ
	if environ == nil {
		environ = os.Environ() //nolint:forbidigo // only the variables that programs need are taken from it
	}
	cmd.Env = []string{} // nil would be all of ours
	for _, one := range environ {
		if name, _, _ := strings.Cut(one, "="); slices.ContainsFunc(needed, func(n string) bool { return strings.EqualFold(n, name) }) {
			cmd.Env = append(cmd.Env, one)
		}
	}
	cmd.Env = append(cmd.Env, p.Env...)
	cmd.Stderr = &lines{log: s.log}
	cmd.WaitDelay = terminate // for what it has started, and which holds on to its output
	isolate(cmd)
	end := sync.OnceFunc(func() {
		if cmd.Process != nil {
			killAll(cmd)
		}
	})
	return &transport{
		Transport: &sdk.CommandTransport{Command: cmd, TerminateDuration: terminate},
		cleanUp:   end,
	}, nil
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
