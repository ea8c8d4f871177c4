package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/tool"
)

// link is a session with the server. One caller creates it while others wait, and
// it is removed from the toolset as soon as it is unusable.
type link struct {
	set     *Toolset
	key     string
	life    context.Context
	end     context.CancelFunc
	ready   chan struct{} // closed when session or err is set
	session *sdk.ClientSession
	err     error
	stale   atomic.Bool                   // the tools have changed
	limit   int64                         // bytes of one message
	large   atomic.Pointer[bounded.Error] // set when a message was larger

	// Guarded by the toolset's lock.
	tools []tool.Tool // nil before they are listed
	users int
	used  time.Time
}

var errClosed = errors.New("the toolset is closed")

// headers returns the headers for the requests of a user, and a key for them.
func (s *Toolset) headers(ctx *tool.Context) (string, http.Header, error) {
	at := cmp.Or(s.cfg.HTTP, s.cfg.SSE)
	if at == nil {
		return "", nil, nil
	}
	all := at.Header.Clone()
	if at.Headers == nil {
		return "", all, nil
	}
	added, err := at.Headers(ctx)
	if err != nil {
		return "", nil, fmt.Errorf("mcp: the headers for %s: %w", s.cfg.name(), err)
	}
	if all == nil {
		all = http.Header{}
	}
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(added)) {
		all.Set(name, added[name])
		fmt.Fprintf(hash, "%q:%q\n", name, added[name])
	}
	return string(hash.Sum(nil)), all, nil
}

// acquire returns a session for a key. The caller must release it.
func (s *Toolset) acquire(ctx context.Context, key string, headers http.Header) (*link, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	l := s.links[key]
	if l == nil {
		if f, ok := s.failed[key]; ok && time.Since(f.at) < backOff {
			s.mu.Unlock()
			return nil, f.err
		}
		s.tidy()
		l = &link{set: s, key: key, ready: make(chan struct{}), limit: bounded.From(ctx).ToolResult + overhead}
		l.life, l.end = context.WithCancel(context.Background())
		s.links[key] = l
		s.wg.Go(func() { l.live(headers) }) //nolint:contextcheck // the session outlives who first needs it
	}
	l.users++
	s.mu.Unlock()
	select {
	case <-l.ready:
	case <-ctx.Done():
		l.release()
		return nil, ctx.Err()
	}
	if l.err != nil {
		l.release()
		return nil, l.err
	}
	return l, nil
}

func (l *link) release() {
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	l.users--
	l.used = time.Now()
}

// tidy closes unused sessions. s.mu must be held.
func (s *Toolset) tidy() {
	var oldest *link
	for _, l := range s.links {
		switch {
		case l.users > 0:
		case time.Since(l.used) > maxIdle:
			s.forget(l)
		case oldest == nil || l.used.Before(oldest.used):
			oldest = l
		}
	}
	if len(s.links) >= maxSessions && oldest != nil {
		s.forget(oldest)
	}
	maps.DeleteFunc(s.failed, func(_ string, f failure) bool { return time.Since(f.at) > backOff })
}

// forget ends a session, and drops what is cached for users without one. s.mu must
// be held.
func (s *Toolset) forget(l *link) {
	delete(s.links, l.key)
	if l.key != "" {
		delete(s.known, l.key)
	}
	l.end()
}

// drop ends an unusable session, so that the next call creates another.
func (l *link) drop() {
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	if l.set.links[l.key] == l {
		delete(l.set.links, l.key)
	}
	l.end()
}

// live runs a session, on its own goroutine.
func (l *link) live(headers http.Header) {
	defer l.drop()
	// On Linux the parent death signal is sent when the thread that started the
	// process ends, so that the process does not outlive this one. Therefore the
	// thread must stay.
	if l.set.cfg.Stdio != nil {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	cleanUp, err := l.reach(headers)
	defer cleanUp()
	if err != nil {
		l.err = fmt.Errorf("it cannot be connected to: %w", err)
		l.set.mu.Lock()
		l.set.failed[l.key] = failure{l.err, time.Now()}
		l.set.mu.Unlock()
		close(l.ready)
		return
	}
	close(l.ready)
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = l.session.Wait()
	}()
	select {
	case <-over:
		if l.life.Err() == nil {
			l.set.log.Warn("the server has ended the session")
		}
	case <-l.life.Done():
	}
	_ = l.session.Close()
	<-over
}

const (
	// quiet is how long a process may be silent after the request for its
	// protocols. A server from before that request may ignore it, or even exit.
	quiet = 5 * time.Second
	// older is the latest protocol that begins without that request.
	older = "2025-11-25"
)

// reach connects to the server, with a new process if the first one does not
// support the handshake. Over HTTP there is always a response to decide by. cleanUp
// must be called after the session.
func (l *link) reach(headers http.Header) (cleanUp func(), err error) {
	limit := l.set.cfg.ConnectTimeout
	if l.set.cfg.Stdio == nil {
		return l.try(headers, "", limit)
	}
	if !l.set.old.Load() {
		cleanUp, err = l.try(headers, "", min(quiet, limit))
		if err == nil || l.life.Err() != nil {
			return cleanUp, err
		}
		cleanUp()
	}
	cleanUp, err = l.try(headers, older, limit)
	l.set.old.Store(err == nil)
	return cleanUp, err
}

func (l *link) try(headers http.Header, protocol string, limit time.Duration) (cleanUp func(), err error) {
	t, err := l.transport(headers)
	if err != nil {
		return func() {}, err
	}
	return t.cleanUp, l.connect(t, &sdk.ClientSessionOptions{ProtocolVersion: protocol}, limit)
}

func (l *link) connect(t *transport, opts *sdk.ClientSessionOptions, limit time.Duration) (err error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "parley", Version: "1"}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { l.stale.Store(true) },
	})
	ctx, cancel := context.WithCancelCause(l.life)
	late := time.AfterFunc(limit, func() { cancel(fmt.Errorf("it did not answer in %s", limit)) })
	defer late.Stop()
	// ctx is not cancelled on success: the older HTTP transport has its stream on
	// it.
	if l.session, err = client.Connect(ctx, t, opts); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		if large := l.large.Load(); large != nil {
			err = large
		}
		cancel(nil)
		return plainURL(err)
	}
	context.AfterFunc(l.life, func() { cancel(nil) })
	return nil
}

// within returns a context for a request, which ends after a timeout and with the
// session.
func (l *link) within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	stop := context.AfterFunc(l.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// plainURL returns an error without the URL, which may contain a key.
func plainURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	return err
}

// lost reports whether an error means that the session is unusable, rather than
// that it is a response of the server.
func (l *link) lost(err error) bool {
	return l.large.Load() != nil || errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing) || l.life.Err() != nil
}
