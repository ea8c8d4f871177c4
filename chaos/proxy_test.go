//go:build unix

package chaos

import (
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy is the network between a server and the database. It can cut what is
// open, cut at random, and hold everything back.
type proxy struct {
	listener net.Listener
	server   string
	bad      atomic.Bool // cut at random
	stalled  atomic.Bool // nothing arrives, and nobody is told
	cuts     atomic.Int64
	wg       sync.WaitGroup

	mu     sync.Mutex
	random *rand.Rand
	conns  map[net.Conn]struct{}
	closed bool
}

func newProxy(t *testing.T, server string, random *rand.Rand) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: server, random: random, conns: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.stalled.Store(false)
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.cut()
		p.wg.Wait()
	})
	return p
}

// through is the URL of a database by way of the proxy.
func (p *proxy) through(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = p.listener.Addr().String()
	return u.String()
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		if p.closed {
			client.Close()
			server.Close()
		}
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.wg.Go(func() { p.copy(client, server) })
		p.wg.Go(func() { p.copy(server, client) })
	}
}

// copy passes on what from sends, until one of the two is cut: before a request
// or an answer has arrived, in the middle of it, or after it.
func (p *proxy) copy(from, to net.Conn) {
	defer func() {
		from.Close()
		to.Close()
		p.mu.Lock()
		delete(p.conns, from)
		p.mu.Unlock()
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		for p.stalled.Load() {
			time.Sleep(5 * time.Millisecond)
		}
		if n > 0 {
			part, cut := p.part(n)
			if _, err := to.Write(buf[:part]); err != nil || cut {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// part is how much of n bytes arrives, and whether that is the end.
func (p *proxy) part(n int) (int, bool) {
	if !p.bad.Load() {
		return n, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.random.IntN(40) {
	case 0:
		n = 0
	case 1:
		n = p.random.IntN(n)
	case 2:
	default:
		return n, false
	}
	p.cuts.Add(1)
	return n, true
}
