package host

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

const (
	maxMessage = 16 << 20         // bytes of a message of a WebSocket, in either direction
	maxGoodbye = 30 * time.Second // for the other side to close, too
)

// webSockets are those of an application. Like sockets, of which they are a part,
// they belong to no call.
type webSockets = numbered[webSocket]

type webSocket struct {
	conn    *websocket.Conn
	idle    *time.Timer
	sending sync.Mutex
}

type webSocketRequest struct {
	URL       string      `json:"url"`
	Protocols []string    `json:"protocols"`
	Headers   [][2]string `json:"headers"`
}

// webSocketHead is the first item of a WebSocket. The others are messages, and
// last how it was closed.
type webSocketHead struct {
	Socket     int64  `json:"socket"`
	Protocol   string `json:"protocol"`
	Extensions string `json:"extensions"`
}

type webSocketMessage struct {
	Text  *string         `json:"text,omitempty"`
	Data  *string         `json:"data,omitempty"` // base64
	Close *webSocketClose `json:"close,omitempty"`
}

type webSocketClose struct {
	Code   int    `json:"code"`
	Reason string `json:"reason"`
}

// webSocket opens a WebSocket and sends the messages that it receives, one after
// the other, as JavaScript asks for them.
func (h *Host) webSocket(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var m webSocketRequest
	if err := json.Unmarshal(params, &m); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	ctx, cancel, err := h.admit(ctx)
	if err != nil {
		return err
	}
	defer h.dismiss(cancel)

	header := http.Header{}
	for _, pair := range m.Headers {
		header.Add(pair[0], pair[1])
	}
	var opened atomic.Bool
	dial := dialer(h.Hosts)
	d := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: maxDial, Subprotocols: m.Protocols, EnableCompression: true}
	d.NetDialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &handshakeConn{Conn: conn, opened: &opened}, nil
	}
	if h.Hosts != nil {
		d.Proxy = nil
	}
	conn, response, err := d.DialContext(ctx, m.URL, header) //nolint:bodyclose // the body of the response is in memory
	opened.Store(true)
	if err != nil {
		if response != nil {
			return fmt.Errorf("the server answered with the status %d to the request for a WebSocket", response.StatusCode)
		}
		return networkError(err)
	}
	defer conn.Close()
	conn.SetReadLimit(maxMessage)
	s := &webSocket{conn: conn, idle: time.AfterFunc(h.sockets.idle, func() { cancel(errIdle) })}
	defer s.idle.Stop()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	// gorilla answers pings; they count as traffic.
	answer := conn.PingHandler()
	conn.SetPingHandler(func(text string) error {
		s.idle.Reset(h.sockets.idle)
		return answer(text)
	})
	head := webSocketHead{Socket: h.webSockets.add(s), Protocol: conn.Subprotocol(), Extensions: response.Header.Get("Sec-WebSocket-Extensions")}
	defer h.webSockets.remove(head.Socket)
	if err := yield(head); err != nil {
		return err
	}
	for {
		kind, data, err := readMessage(conn)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, websocket.ErrReadLimit):
			return fmt.Errorf("a message has more than %d MB, which is the limit", maxMessage>>20)
		case err != nil:
			if end, ok := errors.AsType[*websocket.CloseError](err); ok && end.Code != websocket.CloseAbnormalClosure {
				return yield(webSocketMessage{Close: &webSocketClose{end.Code, end.Text}})
			}
			return networkError(err)
		}
		s.idle.Reset(h.sockets.idle)
		text := string(data)
		one := webSocketMessage{Text: &text}
		if kind == websocket.BinaryMessage {
			text = base64.StdEncoding.EncodeToString(data)
			one = webSocketMessage{Data: &text}
		}
		if err := yield(one); err != nil {
			return err
		}
	}
}

// handshakeConn limits what is read until a WebSocket is open: gorilla has no limit
// for the header of the response.
type handshakeConn struct {
	net.Conn
	opened *atomic.Bool
	n      int // bytes that were read before
}

const maxHandshake = 1 << 20

func (c *handshakeConn) Read(p []byte) (int, error) {
	if c.opened.Load() {
		return c.Conn.Read(p)
	}
	if c.n >= maxHandshake {
		return 0, errors.New("the response to the request for a WebSocket is too large")
	}
	n, err := c.Conn.Read(p)
	c.n += n
	return n, err
}

// readMessage reads a message within the limit, which holds for what a compressed
// one becomes, too.
func readMessage(conn *websocket.Conn) (kind int, data []byte, err error) {
	kind, r, err := conn.NextReader()
	if err != nil {
		return 0, nil, err
	}
	data, err = io.ReadAll(io.LimitReader(r, maxMessage+1))
	if err == nil && len(data) > maxMessage {
		err = websocket.ErrReadLimit
	}
	return kind, data, err
}

// webSocketSend sends a message, or closes. JavaScript sends one after the other.
func (h *Host) webSocketSend(ctx context.Context, params json.RawMessage, _ func(any) error) error {
	var m struct {
		Socket int64 `json:"socket"`
		webSocketMessage
	}
	if err := json.Unmarshal(params, &m); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	s, err := h.webSockets.get(m.Socket, "WebSocket")
	if err != nil {
		return err
	}
	kind, data := websocket.TextMessage, []byte(nil)
	switch {
	case m.Close != nil:
		kind, data = websocket.CloseMessage, websocket.FormatCloseMessage(m.Close.Code, m.Close.Reason)
	case m.Text != nil:
		data = []byte(*m.Text)
	case m.Data != nil:
		kind = websocket.BinaryMessage
		if data, err = base64.StdEncoding.DecodeString(*m.Data); err != nil {
			return fmt.Errorf("read the request: %w", err)
		}
	}
	if len(data) > maxMessage {
		return errTooBig
	}
	defer context.AfterFunc(ctx, func() { _ = s.conn.Close() })()
	s.sending.Lock()
	defer s.sending.Unlock()
	s.idle.Reset(h.sockets.idle)
	err = s.conn.WriteMessage(kind, data)
	if kind == websocket.CloseMessage {
		_ = s.conn.SetReadDeadline(time.Now().Add(maxGoodbye))
	}
	if errors.Is(err, websocket.ErrCloseSent) {
		return nil
	}
	return sendError(err)
}
