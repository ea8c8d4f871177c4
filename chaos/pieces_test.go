//go:build unix

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/testkit/pgtest"
)

// texts are what a stream has shown of texts that are not complete, by agent.
type texts map[string]string

// add takes an event or a piece. What the pieces of a text add up to is the beginning
// of the event that follows, on any server, and also if the run was taken over in
// the middle of the text: the models are pure functions.
func (t texts) add(doc string) error {
	var ev struct {
		Author, Branch string
		Partial        bool
		Content        struct{ Parts []struct{ Text string } }
		CustomMetadata struct{ PieceIndex *int }
	}
	if err := json.Unmarshal([]byte(doc), &ev); err != nil {
		return fmt.Errorf("%w: %s", err, doc)
	}
	text := ""
	for _, p := range ev.Content.Parts {
		text += p.Text
	}
	who := ev.Author + "/" + ev.Branch
	before, begun := t[who]
	switch index := ev.CustomMetadata.PieceIndex; {
	case !ev.Partial:
		delete(t, who)
		if text != "" && !strings.HasPrefix(text, before) {
			return fmt.Errorf("the pieces were %q, and the event is %s", before, doc)
		}
	case text == "": // how far a node is
	case index == nil:
		return fmt.Errorf("a piece has no index: %s", doc)
	case *index == 0:
		t[who] = text
	case !begun:
		return fmt.Errorf("the text begins in the middle: %s", doc)
	default:
		t[who] = before + text
	}
	return nil
}

// A server is killed in the middle of a text that clients read on two others. They
// have its pieces, and then those of the server that takes the run over, in the same
// stream: a text that begins again, and its event once.
func TestPiecesElsewhere(t *testing.T) {
	t.Parallel()
	server := pgtest.Quick(t)
	w := newWorld(t, server.Database(t), server, 3, 0, "--halts", "r0.1", "--lease", "5s") // a busy machine must not lose it earlier
	first := w.at(w.replicas[0])
	conv := first.create("solo")
	m := &message{conversation: conv, word: first.word(), policy: "enqueue", closed: -1}
	m.body = fmt.Appendf(nil, `{"appName":%q,"userId":%q,"sessionId":%q,"streaming":true,"newMessage":{"parts":[{"text":"%s / "}]}}`,
		conv.key.App, conv.key.User, conv.key.ID, m.word)
	status, body := first.insist(http.MethodPost, sessionPath(conv.key)+"/runs", m.body, http.Header{"Idempotency-Key": {m.word}})
	var run struct{ ID string }
	if err := json.Unmarshal(body, &run); status != http.StatusAccepted || err != nil {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	m.run = run.ID
	conv.messages = append(conv.messages, m)
	const begun = "solo has done "
	whole := begun + fmt.Sprintf("all 0 stages of %s now .", m.word)

	type outcome struct {
		text, end     string
		pieces, fresh int // fresh are those after the takeover
		err           error
	}
	middle, outcomes := make(chan struct{}, 2), make(chan outcome, 2)
	ctx, cancel := context.WithTimeout(t.Context(), quiet)
	defer cancel()
	for _, r := range w.replicas[1:] {
		resp, err := w.at(r).send(ctx, http.MethodGet, sessionPath(conv.key)+"/runs/"+m.run+"/events", nil, http.Header{"Accept": {"text/event-stream"}})
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		go func() {
			var o outcome
			shown := texts{}
			err := frames(resp.Body, func(f frame) bool {
				switch {
				case f.event == "end":
					o.end = f.data
					return false
				case f.data == "":
					return true
				case f.id != "":
					o.text += f.data
				default:
					o.pieces++
				}
				if o.err = shown.add(f.data); o.err != nil {
					return false
				}
				if shown["solo/"] == begun && o.fresh == 0 {
					o.fresh = -o.pieces
					middle <- struct{}{}
				}
				return true
			})
			if o.end == "" && o.err == nil {
				o.err = fmt.Errorf("the stream ended: %w", err)
			}
			o.fresh += o.pieces
			outcomes <- o
		}()
	}
	for range 2 {
		select {
		case <-middle:
		case o := <-outcomes:
			t.Fatalf("%+v", o)
		case <-ctx.Done():
			t.Fatal("the pieces do not arrive")
		}
	}
	first.only.kill()
	for range 2 {
		o := <-outcomes
		if o.err != nil || !strings.Contains(o.end, `"completed"`) || strings.Count(o.text, `"text":"`+whole+`"`) != 1 {
			t.Errorf("%+v, want %q", o, whole)
		}
		t.Logf("%d pieces, %d of them after the takeover", o.pieces, o.fresh)
	}
	second := w.at(w.replicas[1])
	if status, _, _, err := second.do(http.MethodGet, "/.parley/feed", nil, http.Header{"Parley-Peer": {"x.y"}}); err != nil || status != http.StatusNotFound {
		t.Errorf("without a proof, the feed of a server is %d, %v", status, err)
	}
	second.finish(m)
	if r := second.row(m); r.Attempt < 2 {
		t.Errorf("the run is %+v", r)
	}
	w.finally()
}
