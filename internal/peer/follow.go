package peer

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/sse"
)

// How long another server may take: to accept a connection, to answer, and to send
// something. A stream without events has a comment every 15 seconds.
const (
	dialTimeout   = 3 * time.Second
	answerTimeout = 10 * time.Second
	silentTimeout = 40 * time.Second
)

// maxFrame bounds a frame. A run with longer pieces is read from the log.
const maxFrame = 64 << 20

var (
	errUnproven = errors.New("another program answers at the address of the server that works on the run, or it has another key")
	errSilent   = errors.New("the server that works on the run sends nothing")
)

// Follow implements run.Peers.
func (p *Peer) Follow(ctx context.Context, worker string, f run.FeedRequest) (run.RemoteFeed, error) {
	address, key, err := split(worker)
	if err != nil {
		return nil, err
	}
	r := request{
		App: f.Key.App, User: f.Key.User, Session: f.Key.ID, Run: f.Run, Epoch: f.Epoch, After: f.After,
		Peer: p.name, Number: p.number.Add(1),
	}
	token, answer, err := r.seal(key)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path, http.NoBody)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	req.Header.Set(header, token)
	res, err := p.client.Do(req)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	switch {
	case !hmac.Equal([]byte(res.Header.Get(header)), []byte(answer)):
		err = errUnproven
	case res.StatusCode == http.StatusNoContent:
		err = run.ErrNoPieces
	case res.StatusCode != http.StatusOK:
		err = fmt.Errorf("the server that works on the run answered with %s", res.Status)
	}
	if err != nil {
		cancel(nil)
		_ = res.Body.Close()
		return nil, err
	}
	out := &feed{
		ctx: ctx, cancel: cancel, body: res.Body,
		silent: time.AfterFunc(silentTimeout, func() { cancel(errSilent) }),
	}
	out.events = sse.NewDecoder(out, maxFrame)
	return out, nil
}

// feed is the feed of a run on another server.
type feed struct {
	ctx    context.Context //nolint:containedctx // of the request
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	events *sse.Decoder
	silent *time.Timer
}

// Close implements run.RemoteFeed.
func (f *feed) Close() {
	f.silent.Stop()
	f.cancel(nil)
	_ = f.body.Close()
}

// Read reads the stream, and notes that the other server sends something: comments, too,
// which are not events.
func (f *feed) Read(b []byte) (int, error) {
	n, err := f.body.Read(b)
	if n > 0 {
		f.silent.Reset(silentTimeout)
	}
	return n, err
}

// Next implements run.RemoteFeed.
func (f *feed) Next() (run.RemoteItem, error) {
	ev, err := f.events.Next()
	if err != nil {
		if cause := context.Cause(f.ctx); cause != nil {
			return run.RemoteItem{}, cause
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // a feed says that it ends
		}
		return run.RemoteItem{}, err
	}
	var next frame
	if err := json.Unmarshal(ev.Data, &next); err != nil {
		return run.RemoteItem{}, fmt.Errorf("reading the feed of a run: %w", err)
	}
	switch {
	case next.End:
		return run.RemoteItem{}, io.EOF
	case next.Seq > 0:
		return run.RemoteItem{Seq: next.Seq}, nil
	}
	piece := new(event.Event)
	if err := piece.UnmarshalJSON(next.Piece); err != nil {
		return run.RemoteItem{}, fmt.Errorf("reading a piece: %w", err)
	}
	return run.RemoteItem{EventID: next.ID, Start: next.Start, Piece: piece}, nil
}
