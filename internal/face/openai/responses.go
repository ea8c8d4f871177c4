package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// read reads the body of a request.
func (h handler) read(w http.ResponseWriter, r *http.Request, decode func([]byte) (*request, error)) (*request, []byte, error) {
	var in *request
	doc, err := h.Body(w, r)
	if err == nil {
		in, err = decode(doc)
	}
	if err != nil {
		_ = h.CheckRate(r, unreadable) // it counts, too
		return nil, nil, err
	}
	return in, doc, nil
}

// unreadable is not the name of an application.
const unreadable = "."

// create starts a run, and answers with its response.
func (h handler) create(w http.ResponseWriter, r *http.Request) error {
	in, doc, err := h.read(w, r, readResponse)
	if err != nil {
		return err
	}
	if in.background && in.noStore {
		return problem("background", "A response in the background must be stored")
	}
	l, err := h.launch(r, in, doc)
	if err != nil {
		return err
	}
	defer l.end()
	about := headOf(l.row)
	about.tell(l.kept)
	if in.background && !in.stream {
		l.run.Read().Close() // it is read later
		return answer(w, about.object(&outcome{status: "queued"}))
	}
	reader := l.run.Read()
	defer reader.Close()
	if in.stream {
		return face.Stream(w, r, h, reader, &face.Transcript{Replayable: true}, newEncoder(about), l.run)
	}
	steps, row, err := h.collect(r, reader, l.run)
	if err != nil || row == nil {
		return err
	}
	enc := newEncoder(about)
	enc.replay(steps)
	enc.End(nil, row)
	return answer(w, about.object(&enc.outcome))
}

// launched is the run of a request.
type launched struct {
	run  *run.Run
	row  *session.Run
	kept *kept
	// ephemeral means that its session is not kept.
	ephemeral bool
	// end is called when the request is answered.
	end func()
}

// launch starts the run of a request.
func (h handler) launch(r *http.Request, in *request, doc []byte) (*launched, error) {
	t, err := h.begin(r, in, doc)
	if err != nil {
		return nil, err
	}
	started, err := t.start() //nolint:contextcheck // it has that of the request
	if err != nil {
		return nil, h.About(t.req.Key, err)
	}
	l := &launched{run: started, kept: &t.kept, ephemeral: t.ephemeral, end: func() {}}
	if t.ephemeral && t.once == "" {
		l.end = func() { h.forget(r, started.Key()) }
	}
	if l.row, err = h.Engine().Run(r.Context(), started.Key(), started.ID()); err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

// collect waits for the end of a run. The row is nil if the client has disconnected.
func (h handler) collect(r *http.Request, reader *run.Reader, started *run.Run) ([]face.Step, *session.Run, error) {
	steps, row, err := face.Collect(r.Context(), reader)
	if r.Context().Err() != nil {
		h.Disconnected(r, started)
		return nil, nil, nil //nolint:nilerr // the client has disconnected
	}
	return steps, row, err
}

// replay collects the output of steps without writing frames.
func (e *encoder) replay(steps []face.Step) {
	e.quiet = true
	for i := range steps {
		e.Step(nil, &steps[i], "")
	}
}

// forget deletes a session that its client does not want to be stored. Its time to
// live is for a server that ends before.
func (h handler) forget(r *http.Request, key session.Key) {
	_ = h.Engine().Delete(context.WithoutCancel(r.Context()), key) // otherwise it expires
}

// headOf returns what a row says about a response.
func headOf(row *session.Run) *head {
	return &head{id: responseID(row.Key, row.ID), model: row.Key.App, conversation: row.Key.ID, created: row.Created}
}

// tell adds what was stored with the message.
func (h *head) tell(k *kept) {
	h.echo = k.Echo
	if k.ID != "" {
		h.id = k.ID
	}
}

// events returns the stored events of a run, beginning with its message. A run that
// was rewound is not found.
func (h handler) events(ctx context.Context, row *session.Run) ([]*event.Event, error) {
	entries, err := h.entries(ctx, row)
	if err != nil {
		return nil, err
	}
	events := make([]*event.Event, 0, len(entries))
	for _, entry := range entries {
		ev, err := entry.Decode()
		if err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// entries is events with the entries of the log. It fails if there are none.
func (h handler) entries(ctx context.Context, row *session.Run) ([]*session.Entry, error) {
	missing := notFound(responseID(row.Key, row.ID))
	if row.First == 0 {
		return nil, missing
	}
	s, err := h.Sessions().Get(ctx, row.Key, session.Read{After: row.First - 1})
	if err != nil {
		return nil, err
	}
	var found []*session.Entry
	for _, entry := range s.Seen() {
		if row.Last != 0 && entry.Seq > row.Last {
			break
		}
		if ev, err := entry.Decode(); err == nil && ev.InvocationID == row.ID {
			found = append(found, entry)
		}
	}
	if len(found) == 0 || found[0].Seq != row.First {
		return nil, missing
	}
	return found, nil
}

// kept returns what was stored with the message of a run; nil while it is queued.
func (h handler) kept(ctx context.Context, row *session.Run) *kept {
	events, err := h.events(ctx, row)
	if err != nil {
		return nil
	}
	return keptIn(events[0])
}

// keptIn returns what was stored with a message. A run of another protocol has nothing.
func keptIn(ev *event.Event) *kept {
	k := &kept{}
	if doc := ev.CustomMetadata[metadataKey]; doc != nil {
		_ = json.Unmarshal(doc, k) // the server wrote it; without it, the response has defaults
	}
	return k
}

// named returns the run of the response in the path.
func (h handler) named(r *http.Request) (*session.Run, error) {
	id := r.PathValue("id")
	who, err := h.Identify(r, "")
	if err != nil {
		return nil, err
	}
	key, run, err := h.locate(r.Context(), id, who.User)
	if err != nil {
		return nil, err
	}
	row, err := h.Engine().Run(r.Context(), key, run)
	if errors.Is(err, session.ErrRunNotFound) || errors.Is(err, session.ErrNotFound) {
		return nil, notFound(id)
	}
	return row, err
}

// get answers with a response, or streams it.
func (h handler) get(w http.ResponseWriter, r *http.Request) error {
	row, err := h.named(r)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	if query.Get("stream") != "true" {
		return h.show(r.Context(), w, row)
	}
	after := -1
	if text := query.Get("starting_after"); text != "" {
		if after, err = strconv.Atoi(text); err != nil {
			return problem("starting_after", "starting_after must be the number of a frame")
		}
	}
	if row.First != 0 {
		if _, err := h.entries(r.Context(), row); err != nil {
			return err
		}
	}
	reader, err := h.Engine().FollowAfter(r.Context(), row.Key, row.ID, 0)
	if err != nil {
		return err
	}
	defer reader.Close()
	enc := newEncoder(headOf(row))
	enc.after = after
	enc.load = func(about *head) { //nolint:contextcheck // it has that of the request
		if begun, err := h.Engine().Run(r.Context(), row.Key, row.ID); err == nil {
			if k := h.kept(r.Context(), begun); k != nil {
				about.tell(k)
			}
		}
	}
	return face.Stream(w, r, h, reader, &face.Transcript{Replayable: true}, enc, nil)
}

// show answers with a response as it is now.
func (h handler) show(ctx context.Context, w http.ResponseWriter, row *session.Run) error {
	about := headOf(row)
	if row.First == 0 {
		o := &outcome{status: "queued", ended: row.Ended}
		if row.Status.Ended() {
			o.status, o.code, o.failure = "failed", "server_error", "The message was refused."
			if row.Failure != nil {
				o.failure = row.Failure.Message
			}
			if row.Status == session.Cancelled {
				o.status = "cancelled"
			}
		}
		return answer(w, about.object(o))
	}
	entries, err := h.entries(ctx, row)
	if err != nil {
		return err
	}
	first, err := entries[0].Decode()
	if err != nil {
		return err
	}
	about.tell(keptIn(first))
	transcript, steps := &face.Transcript{}, []face.Step(nil)
	for _, entry := range entries[1:] {
		if steps, err = transcript.Item(steps, run.Item{JSON: entry.JSON, Entry: entry}); err != nil {
			return err
		}
	}
	enc := newEncoder(about)
	enc.replay(steps)
	if row.Status.Ended() {
		enc.End(nil, row)
	}
	return answer(w, about.object(&enc.outcome))
}

// cancelWait is how long a request waits for the end of the run that it cancels.
const cancelWait = 5 * time.Second

// cancel cancels a response.
func (h handler) cancel(w http.ResponseWriter, r *http.Request) error {
	row, err := h.named(r)
	if err != nil {
		return err
	}
	if row, err = h.Engine().Cancel(r.Context(), row.Key, row.ID); err != nil {
		return err
	}
	if !row.Status.Ended() {
		found, err := h.Engine().Find(r.Context(), row.Key, row.ID)
		if err != nil {
			return err
		}
		ctx, done := context.WithTimeout(r.Context(), cancelWait)
		defer done()
		_, _ = found.Wait(ctx) // it is read again
		if row, err = h.Engine().Run(r.Context(), row.Key, row.ID); err != nil {
			return err
		}
	}
	return h.show(r.Context(), w, row)
}

// delete deletes a response: with its session if it is the only one there, otherwise
// by a rewind if it is the last one.
func (h handler) delete(w http.ResponseWriter, r *http.Request) error {
	row, err := h.named(r)
	if err != nil {
		return err
	}
	if row.First != 0 {
		if _, err := h.entries(r.Context(), row); err != nil {
			return err // it was deleted before
		}
	}
	rows, _, err := h.Engine().Runs(r.Context(), row.Key, session.Page{Size: 2})
	if err != nil {
		return err
	}
	switch {
	case len(rows) == 1 && row.First <= 1:
		err = h.Engine().Delete(r.Context(), row.Key)
	case rows[0].ID == row.ID && row.Status.Ended():
		_, err = h.Engine().Rewind(r.Context(), row.Key, row.ID)
	default:
		err = &face.Problem{Status: http.StatusConflict, Message: "The response cannot be deleted: it is in progress, or another one follows it"}
	}
	if err != nil {
		return err
	}
	return answer(w, append(wire.Quote([]byte(`{"id":`), r.PathValue("id")), `,"object":"response","deleted":true}`...))
}

// inputItems lists the input of a response.
func (h handler) inputItems(w http.ResponseWriter, r *http.Request) error {
	row, err := h.named(r)
	if err != nil {
		return err
	}
	var items []inputItem
	if row.First != 0 {
		events, err := h.events(r.Context(), row)
		if err != nil {
			return err
		}
		items = inputOfMessage(events[0])
	}
	query := r.URL.Query()
	if query.Get("order") != "asc" {
		slices.Reverse(items)
	}
	if after := query.Get("after"); after != "" {
		i := slices.IndexFunc(items, func(it inputItem) bool { return it.ID == after })
		items = items[i+1:]
	}
	limit := 20
	if text := query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > 100 {
			return problem("limit", "limit must be a number from 1 to 100")
		}
	}
	list := struct {
		Object string      `json:"object"`
		Data   []inputItem `json:"data"`
		First  *string     `json:"first_id"`
		Last   *string     `json:"last_id"`
		More   bool        `json:"has_more"`
	}{Object: "list", Data: append([]inputItem{}, items[:min(limit, len(items))]...), More: len(items) > limit}
	if n := len(list.Data); n > 0 {
		list.First, list.Last = &list.Data[0].ID, &list.Data[n-1].ID
	}
	doc, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return answer(w, doc)
}

// inputItem is an item of the input as clients get it.
type inputItem struct {
	ID      string           `json:"id"`
	Type    string           `json:"type"`
	Status  string           `json:"status"`
	Role    string           `json:"role,omitempty"`
	Content []map[string]any `json:"content,omitempty"`
	Call    string           `json:"call_id,omitempty"`
	Output  string           `json:"output,omitempty"`
}

// inputOfMessage returns the items of a message.
func inputOfMessage(ev *event.Event) []inputItem {
	if ev.Content == nil {
		return nil
	}
	parts, input := ev.Content.Parts, keptIn(ev).Input
	if input == nil { // of another protocol
		input = []inputOf{{event.User, len(parts)}}
	}
	var items []inputItem
	for i, in := range input {
		n := max(0, min(in.Parts, len(parts))) // clients of the server's own API may have written it
		own := parts[:n]
		parts = parts[n:]
		it := inputItem{ID: "msg_" + ev.ID + "-" + strconv.Itoa(i), Type: messageType, Status: "completed", Role: in.Role}
		for _, p := range own {
			switch {
			case p.FunctionResponse != nil:
				it.Type, it.Role, it.Call, it.Output = outputType, "", p.FunctionResponse.ID, string(p.FunctionResponse.Response)
			case p.InlineData != nil && strings.HasPrefix(p.InlineData.MIMEType, "image/"):
				it.Content = append(it.Content, map[string]any{"type": "input_image", "image_url": face.DataURL(p.InlineData), "detail": "auto"})
			case p.InlineData != nil:
				it.Content = append(it.Content, map[string]any{"type": "input_file", "filename": p.InlineData.DisplayName, "file_data": face.DataURL(p.InlineData)})
			case p.FileData != nil:
				it.Content = append(it.Content, map[string]any{"type": "input_file", "filename": p.FileData.DisplayName, "file_url": p.FileData.FileURI})
			default:
				it.Content = append(it.Content, map[string]any{"type": "input_text", "text": p.Text})
			}
		}
		if in.Role != "" {
			items = append(items, it)
		}
	}
	return items
}
