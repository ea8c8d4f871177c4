package peer

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/internal/wire"
)

// Serve answers a request of another server for the feed of a run of engine. It
// returns false, and leaves the request alone, if it is not one, or if the sender does
// not have the key: to all others there is nothing at the path.
func (p *Peer) Serve(w http.ResponseWriter, r *http.Request, engine *run.Engine) bool {
	if r.URL.Path != path || r.Method != http.MethodGet {
		return false
	}
	req, answer, ok := open(p.key, r.Header.Get(header))
	if !ok {
		return false
	}
	w.Header().Set(header, answer)
	feed, err := engine.Feed(req.feed())
	switch {
	case errors.Is(err, run.ErrNoPieces):
		w.WriteHeader(http.StatusNoContent)
		return true
	case err != nil:
		w.WriteHeader(http.StatusGone)
		return true
	}
	defer feed.Close()
	stream := sse.New(w, r)
	stream.Open()
	if err := sse.Follow(r.Context(), stream, feed, func(item run.Item) error { return send(stream, item) }); errors.Is(err, io.EOF) {
		_ = stream.Data([]byte(`{"end":true}`)) // the other server reads the log in any case
	}
	return true
}

// frame is what the worker of a run sends: a stored event, a piece, or the end of the
// turn.
type frame struct {
	Seq   int64           `json:"seq"`
	ID    string          `json:"id"`
	Start int             `json:"start"`
	Piece json.RawMessage `json:"piece"`
	End   bool            `json:"end"`
}

func send(to *sse.Stream, item run.Item) error {
	b := sse.Buffer()
	defer sse.Release(b)
	*b = append(*b, `data: {`...)
	if item.Entry != nil {
		*b = strconv.AppendInt(append(*b, `"seq":`...), item.Entry.Seq, 10)
	} else {
		*b = wire.Quote(append(*b, `"id":`...), item.EventID)
		*b = strconv.AppendInt(append(*b, `,"start":`...), int64(item.Start), 10)
		*b = append(append(*b, `,"piece":`...), item.JSON...)
	}
	*b = append(*b, "}\n\n"...)
	return to.Send(*b)
}
