package run

import (
	"context"
	"errors"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run/stream"
	"github.com/parley-run/parley/session"
)

// Peers reaches the other servers that share the store.
type Peers interface {
	// Self returns the address of this server, as in session.Options.
	Self() string
	// Follow follows a turn on the server whose address is worker. It fails with
	// ErrNoPieces if the run has no partial events. The end of ctx ends the feed.
	Follow(ctx context.Context, worker string, f FeedRequest) (RemoteFeed, error)
}

// ErrNoPieces means that a run was started without partial events.
var ErrNoPieces = errors.New("the run has no partial events")

// FeedRequest asks the server that works on a run for its feed.
type FeedRequest struct {
	Key   session.Key
	Run   string
	Epoch int64
	// After is the sequence number of the last event that the reader has.
	After int64
	// Peer and Number identify the request among all of the servers. The number of
	// each request of a peer for one run is greater than the one before.
	Peer   string
	Number int64
}

// RemoteFeed is a feed on another server.
type RemoteFeed interface {
	// Next waits for the next item. It fails with io.EOF when the turn is over, and
	// with another error if the connection broke.
	Next() (RemoteItem, error)
	Close()
}

// RemoteItem is a stored event, or a piece.
type RemoteItem struct {
	// Seq is the sequence number of a stored event, which is in the log; 0 for a
	// piece.
	Seq int64
	// The others are those of a stream.Item. Piece has an index.
	EventID string
	Start   int
	Piece   *event.Event
}

// maxPeers bounds how many servers are known to a turn.
const maxPeers = 1000

// Feed returns the feed of a turn for another server, which must have proven that it
// is one. The caller must close it. It fails with ErrNoPieces, and with
// session.ErrRunNotFound if the run is not active here, or if the request was made
// before.
func (e *Engine) Feed(f FeedRequest) (*FeedReader, error) {
	t := e.turns.find(f.Key, f.Run)
	if t == nil {
		return nil, session.ErrRunNotFound
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	last, known := t.peers[f.Peer]
	if t.row == nil || t.row.Epoch != f.Epoch || known && f.Number <= last || !known && len(t.peers) == maxPeers {
		return nil, session.ErrRunNotFound
	}
	if !t.req.Stream {
		return nil, ErrNoPieces
	}
	if t.peers == nil {
		t.peers = map[string]int64{}
	}
	t.peers[f.Peer] = f.Number
	return &FeedReader{t.feed.Follow(f.After)}, nil
}

// FeedReader reads the feed of a turn for another server.
type FeedReader struct{ *stream.Follower }

// Take returns the next item, if one is available. It fails with io.EOF when the turn
// is over.
func (r *FeedReader) Take(context.Context) (Item, bool, error) { return r.Follower.Take() }

// Begun reports that items may follow at any time.
func (r *FeedReader) Begun() bool { return true }
