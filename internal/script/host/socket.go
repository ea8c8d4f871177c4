package host

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	maxDial   = 2 * time.Minute  // about what the kernel waits, and so Node.js
	maxIdle   = 10 * time.Minute // without a byte in either direction
	maxWrite  = 16 << 20         // bytes in one message
	maxLookup = time.Minute
)

// sockets are the open sockets of an application. They belong to no call: pools of
// connections outlive those that have opened them.
type sockets struct {
	idle time.Duration

	numbered[socket]
	held int // with those that are not connected yet; guarded by mu
}

// socket is one, which an operation serves for as long as it is open.
type socket struct {
	idle *time.Timer

	reading sync.Mutex // held while conn is read, and while it is replaced
	mu      sync.Mutex
	conn    net.Conn
}

type socketRequest struct {
	Host   string      `json:"host"`
	Port   int         `json:"port"`
	Family int         `json:"family"`
	TLS    *tlsRequest `json:"tls"`
}

// received is what a socket receives; without data, it is the end. Secure says
// that it came over TLS, and not before a change to it.
type received struct {
	Data   string `json:"data"` // base64
	Secure bool   `json:"secure"`
}

// socketHead is the first item of a socket. The others are of type received.
type socketHead struct {
	Socket int64    `json:"socket"`
	Local  peer     `json:"local"`
	Remote peer     `json:"remote"`
	TLS    *tlsHead `json:"tls,omitempty"`
}

type peer struct {
	Address string `json:"address"`
	Port    int    `json:"port"`
}

func peerOf(a net.Addr) peer {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return peer{}
	}
	return peer{t.AddrPort().Addr().Unmap().String(), t.Port}
}

// admit waits for a slot for a socket, and returns the context of the socket. Unless it
// fails, dismiss must be called at the end.
func (h *Host) admit(ctx context.Context) (context.Context, context.CancelCauseFunc, error) {
	if err := h.count(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if err := h.slots.acquire(ctx); err != nil {
		cancel(nil)
		h.uncount()
		return nil, nil, err
	}
	return ctx, cancel, nil
}

func (h *Host) dismiss(cancel context.CancelCauseFunc) {
	h.slots.release()
	cancel(nil)
	h.uncount()
}

// count counts a socket, of which an application may have half as many as
// requests: sockets stay open, and fetch must go on beside them.
func (h *Host) count() error {
	h.sockets.mu.Lock()
	defer h.sockets.mu.Unlock()
	if most := max(1, cap(h.slots.own)/2); h.sockets.held >= most {
		return coded("EMFILE", "the application has %d sockets open already, which is the limit: close some, or use a pool", most)
	}
	h.sockets.held++
	return nil
}

func (h *Host) uncount() {
	h.sockets.mu.Lock()
	h.sockets.held--
	h.sockets.mu.Unlock()
}

// socket opens a TCP connection, with TLS if that is asked for, and sends what it
// receives. It reads only what JavaScript asks for.
func (h *Host) socket(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var m socketRequest
	if err := json.Unmarshal(params, &m); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	ctx, cancel, err := h.admit(ctx)
	if err != nil {
		return err
	}
	defer h.dismiss(cancel)

	conn, err := h.dial(ctx, m)
	if err != nil {
		return networkError(err)
	}
	s := &socket{conn: conn, idle: time.AfterFunc(h.sockets.idle, func() { cancel(errIdle) })}
	defer s.idle.Stop()
	defer s.close()
	defer context.AfterFunc(ctx, s.close)()
	head := socketHead{Local: peerOf(conn.LocalAddr()), Remote: peerOf(conn.RemoteAddr())}
	if m.TLS != nil {
		if head.TLS, err = s.secure(ctx, *m.TLS); err != nil {
			return err
		}
	}
	head.Socket = h.sockets.add(s)
	defer h.sockets.remove(head.Socket)
	if err := yield(head); err != nil {
		return err
	}
	return s.receive(ctx, h.sockets.idle, yield)
}

var errIdle = coded("ETIMEDOUT", "nothing was sent or received for too long, and the socket was closed")

func (h *Host) dial(ctx context.Context, m socketRequest) (net.Conn, error) {
	network := "tcp"
	if m.Family == 4 || m.Family == 6 {
		network += strconv.Itoa(m.Family)
	}
	return dialer(h.Hosts)(ctx, network, net.JoinHostPort(m.Host, strconv.Itoa(m.Port)))
}

// receive sends what the socket receives, until it is closed.
func (s *socket) receive(ctx context.Context, pause time.Duration, yield func(any) error) error {
	buf := make([]byte, chunkSize)
	for {
		s.reading.Lock()
		conn := s.current()
		n, err := conn.Read(buf)
		s.reading.Unlock()
		_, secure := conn.(*tls.Conn)
		if n > 0 {
			s.idle.Reset(pause)
			if err := yield(received{base64.StdEncoding.EncodeToString(buf[:n]), secure}); err != nil {
				return err
			}
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, os.ErrDeadlineExceeded): // by upgrade
		case errors.Is(err, io.EOF):
			if err := yield(received{Secure: secure}); err != nil { // what is to be sent still is
				return err
			}
			<-ctx.Done()
			return context.Cause(ctx)
		case err != nil:
			return networkError(err)
		}
	}
}

func (s *socket) current() net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

func (s *socket) replace(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = conn
}

func (s *socket) close() { _ = s.current().Close() }

// send writes to a socket, and ends when the operating system has all of it.
// JavaScript writes one piece after the other.
func (h *Host) send(ctx context.Context, params json.RawMessage, _ func(any) error) error {
	var m struct {
		Socket int64  `json:"socket"`
		Data   string `json:"data"` // base64
		End    bool   `json:"end"`  // nothing follows
	}
	if err := json.Unmarshal(params, &m); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if len(m.Data) > base64.StdEncoding.EncodedLen(maxWrite) {
		return errTooBig
	}
	data, err := base64.StdEncoding.DecodeString(m.Data)
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	s, err := h.sockets.get(m.Socket, "socket")
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, s.close)()
	conn := s.current()
	for len(data) > 0 {
		n, err := conn.Write(data[:min(len(data), chunkSize)])
		if err != nil {
			return sendError(err)
		}
		s.idle.Reset(h.sockets.idle)
		data = data[n:]
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok && m.End {
		_ = half.CloseWrite() // the other side may be gone
	}
	return nil
}

func sendError(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return coded("EPIPE", "the socket is closed")
	}
	return networkError(err)
}
