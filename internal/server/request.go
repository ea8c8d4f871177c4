package server

import (
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// body reads the request's body, which is JSON. It is nil when there is none.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) { return s.bodyOf(w, r) }

// bodyOf is body for a route that takes other types, too.
func (s *Server) bodyOf(w http.ResponseWriter, r *http.Request, types ...string) ([]byte, error) {
	return bodyUpTo(s.MaxBody, w, r, types...)
}

// bodyUpTo is bodyOf for a route with a limit of its own.
func bodyUpTo(limit int64, w http.ResponseWriter, r *http.Request, types ...string) ([]byte, error) {
	if err := accepts(r, types...); err != nil {
		return nil, err
	}
	if r.ContentLength == 0 {
		return nil, nil
	}
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	// The server's time limit is for requests; what follows may take longer.
	defer func() { _ = http.NewResponseController(w).SetReadDeadline(time.Time{}) }()
	if r.ContentLength > 0 && r.ContentLength < 1<<20 && header(r, encodingHeader) == "" {
		b := make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, b)
		return b, unread(err)
	}
	content, err := contentOf(w, r, limit)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(content)
	if len(b) == 0 && err == nil {
		return nil, nil // chunks may add up to nothing
	}
	return b, unread(err)
}

const encodingHeader = "Content-Encoding"

// contentOf is the body of a request, decompressed if it is compressed. It fails
// when more than limit bytes are read, or have to be read for them.
func contentOf(w http.ResponseWriter, r *http.Request, limit int64) (io.Reader, error) {
	sent := http.MaxBytesReader(w, r.Body, limit)
	switch encoding := strings.Join(r.Header[encodingHeader], ", "); strings.ToLower(encoding) {
	case "", "identity":
		return sent, nil
	case "gzip", "x-gzip":
		return http.MaxBytesReader(w, &gunzip{from: sent}, limit), nil
	default:
		w.Header().Set("Accept-Encoding", "gzip")
		return nil, &httpError{
			status:  http.StatusUnsupportedMediaType,
			message: fmt.Sprintf("Unsupported content encoding %q: send gzip, or none", encoding),
		}
	}
}

// gunzip decompresses. It begins with the first read, for which there is a time
// limit.
type gunzip struct {
	from io.ReadCloser
	to   *gzip.Reader
}

func (g *gunzip) Read(b []byte) (n int, err error) {
	if g.to == nil {
		if g.to, err = gzip.NewReader(g.from); errors.Is(err, io.EOF) {
			return 0, io.ErrUnexpectedEOF // an empty body is no empty content
		}
	}
	if err == nil {
		n, err = g.to.Read(b)
	}
	if _, corrupt := errors.AsType[flate.CorruptInputError](err); corrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		err = &httpError{status: http.StatusBadRequest, message: "The request body is not gzip, as its Content-Encoding says, or is damaged", cause: err}
	}
	return n, err
}

func (g *gunzip) Close() error { return g.from.Close() }

// accepts refuses a body that is neither JSON nor of another type that is taken.
func accepts(r *http.Request, types ...string) error {
	kind := header(r, "Content-Type")
	if kind == "" || kind == "application/json" {
		return nil
	}
	media, _, err := mime.ParseMediaType(kind)
	if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") && !slices.Contains(types, media) {
		return &httpError{
			status:  http.StatusUnsupportedMediaType,
			message: fmt.Sprintf("Unsupported content type %q: send %s", kind, append(types, "application/json")[0]),
		}
	}
	return nil
}

// unread says why a body could not be read.
func unread(err error) error {
	if err == nil {
		return nil
	}
	if tooLarge, ok := err.(*http.MaxBytesError); ok { //nolint:errorlint // MaxBytesReader returns it bare
		return tooLarge
	}
	if known, ok := errors.AsType[*httpError](err); ok {
		return known
	}
	return &httpError{status: http.StatusBadRequest, message: "The request body could not be read to its end", cause: err}
}

// pathKey is the session that the path names.
func pathKey(r *http.Request) (session.Key, error) {
	key := session.Key{App: r.PathValue("app"), User: r.PathValue("user"), ID: r.PathValue("session")}
	return key, key.Check()
}

// runRequest is a request for a run, and what its client wants besides.
type runRequest struct {
	run.Request
	cancelOnDisconnect bool
}

// header is what Header.Get gives for a name that is spelled as net/http keeps it.
// Get makes sure of that first, letter by letter, and every request asks for some.
func header(r *http.Request, name string) string {
	if values := r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// Headers that say the same as members of the body.
const (
	concurrencyHeader  = "X-Parley-Concurrency"
	onDisconnectHeader = "X-Parley-On-Disconnect"
	idempotencyHeader  = "Idempotency-Key"
	preferHeader       = "Prefer"

	credentialCallHeader = "X-Parley-Credential-Call" //nolint:gosec // the name of a header
)

// runRequest reads the body of /run and /run_sse.
func (s *Server) runRequest(w http.ResponseWriter, r *http.Request) (*runRequest, error) {
	req := &runRequest{}
	doc, err := s.body(w, r)
	if err == nil {
		err = s.readRun(r, doc, req, true)
	}
	if err == nil {
		err = req.Key.Check()
	}
	if err != nil {
		s.unreadable(r)
		return nil, err
	}
	return req, s.owned(r, req.Key)
}

// readRun reads the body of a request for a run, which names the session if
// named says so, and the headers that go with it.
func (s *Server) readRun(r *http.Request, doc []byte, req *runRequest, named bool) error {
	var app, user, id bool // given, if only as an empty string
	var resumed string
	req.SaveFiles = s.SaveInputFiles
	concurrency, onDisconnect := fromHeader(r, concurrencyHeader), fromHeader(r, onDisconnectHeader)
	err := wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(name string) error {
			switch name {
			case "newMessage":
				req.Message = &event.Content{}
				return in.Value(req.Message)
			case "invocationId":
				return in.ID(&resumed)
			case "streaming":
				return in.Bool(&req.Stream)
			case "saveInputBlobsAsArtifacts":
				return in.Bool(&req.SaveFiles)
			case "stateDelta":
				return in.RawMap(&req.StateDelta)
			case "customMetadata":
				return in.RawMap(&req.CustomMetadata)
			case "concurrency":
				return concurrency.read(in, name)
			case "onDisconnect":
				return onDisconnect.read(in, name)
			}
			if !named {
				return in.Skip()
			}
			switch name {
			case "appName":
				app = true
				return in.ID(&req.Key.App)
			case "userId":
				user = true
				return in.ID(&req.Key.User)
			case "sessionId":
				id = true
				return in.ID(&req.Key.ID)
			}
			return in.Skip()
		})
	})
	if err != nil {
		return err
	}
	if err := mayShare(r, req.StateDelta); err != nil {
		return err
	}
	if c := callerOf(r); c != nil {
		req.Caller = c.ID
	}
	if resumed != "" && (req.Message == nil || len(req.Message.FunctionResponses()) == 0) {
		return &wire.Error{
			Path: []any{"invocationId"}, Type: "value_error",
			Msg: "A run cannot be resumed by its id: send a newMessage without invocationId, which starts a new run, or the answer that the run waits for",
		}
	}
	var missing []*wire.Error
	for _, member := range []struct {
		name  string
		there bool
	}{{"appName", app || !named}, {"userId", user || !named}, {"sessionId", id || !named}, {"newMessage", req.Message != nil}} {
		if !member.there {
			missing = append(missing, wire.Missing(member.name))
		}
	}
	if len(missing) > 0 {
		return invalid(missing...)
	}
	call := fromHeader(r, credentialCallHeader)
	if req.CredentialCall, err = call.among("", agent.CredentialCall, agent.CredentialCallADK); err != nil {
		return err
	}
	if keys := r.Header[idempotencyHeader]; len(keys) > 0 {
		req.IdempotencyKey = keys[0]
		if err := session.CheckIdentifier(idempotencyHeader, req.IdempotencyKey); err != nil {
			return err
		}
		sum := sha256.Sum256(doc)
		req.Fingerprint = hex.EncodeToString(sum[:])
	}
	return s.behave(req, concurrency, onDisconnect)
}

// choice is a value that a request may give in its body or, if it is not there,
// in a header.
type choice struct {
	given       bool
	value       string
	where, name string // "header" or "body", and what it is called there
}

func fromHeader(r *http.Request, name string) choice {
	c := choice{where: "header", name: name}
	if values := r.Header[name]; len(values) > 0 {
		c.given, c.value = true, values[0]
	}
	return c
}

// read takes the value of a member of the body.
func (c *choice) read(in *wire.Reader, name string) error {
	c.given, c.where, c.name = true, "body", name
	return in.String(&c.value)
}

// among is the value, or other when none was given. It must be one of a list.
func (c *choice) among(other string, list ...string) (string, error) {
	if !c.given {
		return other, nil
	}
	if slices.Contains(list, c.value) {
		return c.value, nil
	}
	msg := "must be one of " + strings.Join(list, ", ")
	return "", &httpError{
		status: http.StatusUnprocessableEntity, message: "Invalid request: " + c.name + ": " + msg,
		detail: listOf(problem{"enum", []any{c.where, c.name}, msg}),
	}
}

// behave reads how a run is to behave, with the server's settings where the
// request has none.
func (s *Server) behave(req *runRequest, concurrency, onDisconnect choice) error {
	busy, err := concurrency.among(string(s.Concurrency),
		string(session.Enqueue), string(session.Reject), string(session.Interrupt), string(session.Rollback))
	if err != nil {
		return err
	}
	gone, err := onDisconnect.among(s.OnDisconnect, "continue", "cancel")
	if err != nil {
		return err
	}
	req.Busy, req.cancelOnDisconnect = session.Policy(busy), gone == "cancel"
	return nil
}

// createRequest is the body with which a session is made.
type createRequest struct {
	id     string
	state  session.State
	events []*event.Event
}

// read takes {"sessionId", "state", "events"}.
func (c *createRequest) read(in *wire.Reader) error {
	if in.Null() {
		return nil
	}
	return in.Object(func(name string) error {
		switch name {
		case "sessionId":
			return in.ID(&c.id)
		case "state":
			return in.RawMap((*map[string]json.RawMessage)(&c.state))
		case "events":
			return in.Array(func() error {
				ev := &event.Event{}
				c.events = append(c.events, ev)
				return in.Value(ev)
			})
		}
		return in.Skip()
	})
}

// isWrapper tells the two bodies apart that clients send to create a session
// with an id: the wrapper, whose members all have known names and whose state
// is an object, and anything else, which is the state itself.
func isWrapper(members map[string]json.RawMessage) bool {
	state, wrapped := members["state"]
	if wrapped && !session.IsNull(state) && state[0] != '{' {
		return false
	}
	for name := range members {
		switch wire.Camel(name) {
		case "state", "events", "sessionId", "options":
		case "id", "appName", "userId", "lastUpdateTime": // of a session; alone, they may be the state
			if !wrapped {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// noNulls refuses an initial state with null in it: a null deletes a key, and there
// is none yet. path leads to the state in the body.
func noNulls(state session.State, path ...any) error {
	for _, k := range slices.Sorted(maps.Keys(state)) {
		if session.IsNull(state[k]) && !tool.IsSecret(k) { // which is refused whatever its value
			return &wire.Error{
				Path: append(path, k), Type: "value_error",
				Msg: "A new session cannot have a key without a value, and null is none: leave the key out",
			}
		}
	}
	return nil
}
