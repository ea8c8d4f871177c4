package postgres_test

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

// proxy is a bad network: it stands in front of a server and, once it is told
// to, cuts connections at random moments: before a request has arrived, in the
// middle of one, or when all but the answer has.
type proxy struct {
	listener net.Listener
	server   string
	bad      atomic.Bool
	cuts     atomic.Int64
	wg       sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: server, conns: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		for c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
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
		p.conns[client], p.conns[server] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.wg.Go(func() { p.copy(client, server, false) })
		p.wg.Go(func() { p.copy(server, client, true) })
	}
}

// copy passes on what from sends, until one of the two is cut. An answer that is
// lost is the worst that can happen, so most cuts are there.
func (p *proxy) copy(from, to net.Conn, answers bool) {
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
		if p.bad.Load() && n > 0 {
			switch rand.N(60) {
			case 0: // nothing of it arrives
				p.cuts.Add(1)
				return
			case 1: // a part of it
				p.cuts.Add(1)
				_, _ = to.Write(buf[:rand.N(n)])
				return
			case 2: // all of it, and then nothing more
				p.cuts.Add(1)
				_, _ = to.Write(buf[:n])
				return
			case 3, 4: // all of it, when its sender has long given up
				if !answers {
					p.cuts.Add(1)
					from.Close()
					time.Sleep(rand.N(200 * time.Millisecond))
					_, _ = to.Write(buf[:n])
					_, _ = io.CopyN(io.Discard, to, 1)
					return
				}
			}
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
