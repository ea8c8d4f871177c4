package peer

import (
	"bufio"
	"bytes"
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
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(make([]byte, 0, 4096), maxFrame)
	return &feed{
		ctx: ctx, cancel: cancel, body: res.Body, lines: lines,
		silent: time.AfterFunc(silentTimeout, func() { cancel(errSilent) }),
	}, nil
}

// feed is the feed of a run on another server.
type feed struct {
	ctx    context.Context //nolint:containedctx // of the request
	cancel context.CancelCauseFunc
	body   io.Closer
	lines  *bufio.Scanner
	silent *time.Timer
}

// Close implements run.RemoteFeed.
func (f *feed) Close() {
	f.silent.Stop()
	f.cancel(nil)
	_ = f.body.Close()
}

// Next implements run.RemoteFeed.
func (f *feed) Next() (run.RemoteItem, error) {
	for f.lines.Scan() {
		f.silent.Reset(silentTimeout)
		data, ok := bytes.CutPrefix(f.lines.Bytes(), []byte("data: "))
		if !ok {
			continue // a comment, or the end of an event
		}
		var next frame
		if err := json.Unmarshal(data, &next); err != nil {
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
	if cause := context.Cause(f.ctx); cause != nil {
		return run.RemoteItem{}, cause
	}
	if err := f.lines.Err(); err != nil {
		return run.RemoteItem{}, err
	}
	return run.RemoteItem{}, io.ErrUnexpectedEOF
}
