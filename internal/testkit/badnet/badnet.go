// Package badnet is a network that fails, for tests: a proxy in front of a server
// that cuts connections at the worst moments.
package badnet

import (
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy stands between clients and a server. It can cut what is open, cut at
// random, and hold everything back.
type Proxy struct {
	Bad     atomic.Bool // cut at random
	Stalled atomic.Bool // nothing arrives, and no error is reported
	Cuts    atomic.Int64
	Dials   atomic.Int64 // connections that clients have made, or tried to

	listener net.Listener
	server   string
	wg       sync.WaitGroup

	mu     sync.Mutex
	random *rand.Rand
	conns  map[net.Conn]struct{}
	closed bool
}

// New starts a proxy in front of the server at an address. It ends with the test.
func New(tb testing.TB, server string, random *rand.Rand) *Proxy {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{listener: l, server: server, random: random, conns: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	tb.Cleanup(func() {
		_ = l.Close()
		p.Stalled.Store(false)
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.Cut()
		p.wg.Wait()
	})
	return p
}

// Addr is the host and the port of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Through is the URL of something on the server, by way of the proxy.
func (p *Proxy) Through(tb testing.TB, address string) string {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	u.Host = p.Addr()
	return u.String()
}

// Cut ends all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.Dials.Add(1)
		server, err := net.Dial("tcp", p.server) //nolint:noctx // the end of the test cuts it
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		if p.closed {
			_, _ = client.Close(), server.Close()
		}
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.wg.Go(func() { p.copy(client, server, false) })
		p.wg.Go(func() { p.copy(server, client, true) })
	}
}

// copy passes on what from sends, until one of the two is cut.
func (p *Proxy) copy(from, to net.Conn, answers bool) {
	defer func() {
		_, _ = from.Close(), to.Close()
		p.mu.Lock()
		delete(p.conns, from)
		p.mu.Unlock()
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		for p.Stalled.Load() {
			time.Sleep(5 * time.Millisecond)
		}
		if n > 0 {
			part, late, cut := p.fate(n, answers)
			if late > 0 { // its sender has long given up when it arrives
				_ = from.Close()
				time.Sleep(late)
			}
			if _, err := to.Write(buf[:part]); err != nil || cut {
				if late > 0 {
					_, _ = io.CopyN(io.Discard, to, 1) // the answer is discarded
				}
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// fate is how much of n bytes arrives, how late, and whether that is the end.
func (p *Proxy) fate(n int, answers bool) (part int, late time.Duration, cut bool) {
	if !p.Bad.Load() {
		return n, 0, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.random.IntN(50) {
	case 0:
		n = 0
	case 1:
		n = p.random.IntN(n)
	case 2: // all of it, and then nothing more
	case 3, 4:
		if answers {
			return n, 0, false
		}
		late = time.Duration(1 + p.random.IntN(int(200*time.Millisecond)))
	default:
		return n, 0, false
	}
	p.Cuts.Add(1)
	return n, late, true
}
