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

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/internal/webhook"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// body reads the JSON body of a request. It is nil if there is none.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) { return s.bodyOf(w, r) }

// bodyOf is like body for a route that accepts further types.
func (s *Server) bodyOf(w http.ResponseWriter, r *http.Request, types ...string) ([]byte, error) {
	return bodyUpTo(s.MaxBody, w, r, types...)
}

// bodyUpTo is like bodyOf with its own limit.
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
	// The server's read timeout is for the request; the response may take longer.
	defer func() { _ = http.NewResponseController(w).SetReadDeadline(time.Time{}) }()
	if r.ContentLength > 0 && r.ContentLength < 1<<20 && header(r, encodingHeader) == "" {
		b := make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, b)
		return b, bodyError(err)
	}
	content, err := contentOf(w, r, limit)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(content)
	if len(b) == 0 && err == nil {
		return nil, nil // the chunks may be empty
	}
	return b, bodyError(err)
}

const encodingHeader = "Content-Encoding"

// contentOf returns the body of a request, decompressed if necessary. Reading fails after limit bytes, compressed or
// decompressed.
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

// gunzip decompresses. It reads the header with the first Read, which has a deadline.
type gunzip struct {
	from io.ReadCloser
	to   *gzip.Reader
}

func (g *gunzip) Read(b []byte) (n int, err error) {
	if g.to == nil {
		if g.to, err = gzip.NewReader(g.from); errors.Is(err, io.EOF) {
			return 0, io.ErrUnexpectedEOF // an empty body is not a valid gzip stream
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

// accepts refuses a body that is neither JSON nor one of types.
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

// bodyError explains why a body could not be read.
func bodyError(err error) error {
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

// pathKey returns the key of the session that the path names.
func pathKey(r *http.Request) (session.Key, error) {
	key := session.Key{App: r.PathValue("app"), User: r.PathValue("user"), ID: r.PathValue("session")}
	return key, key.Check()
}

// runRequest is a request for a run with the options of its client.
type runRequest struct {
	run.Request
	cancelOnDisconnect bool
	webhook            *webhook.Change // nil for none
}

// header is like Header.Get for a name in canonical form. Get canonicalizes the name first, which is measurable for the
// headers of every request.
func header(r *http.Request, name string) string {
	if values := r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// Headers with the meaning of members of the body.
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
	return req, s.checkOwner(r, req.Key)
}

// readRun reads the body of a request for a run and the related headers. The body names the session if named is true.
func (s *Server) readRun(r *http.Request, doc []byte, req *runRequest, named bool) error {
	var app, user, id bool // present, possibly empty
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
			case "webhook":
				req.webhook = &webhook.Change{}
				return readWebhook(in, req.webhook, nil)
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
	if err := checkSharedState(r, req.StateDelta); err != nil {
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
	if req.CredentialCall, err = call.among("", tool.CredentialCall, tool.CredentialCallADK); err != nil {
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
	return s.readPolicies(req, concurrency, onDisconnect)
}

// choice is a value from the body of a request or, if it is missing there, from a header.
type choice struct {
	given       bool
	value       string
	where, name string // "header" or "body", and its name there
}

func fromHeader(r *http.Request, name string) choice {
	c := choice{where: "header", name: name}
	if values := r.Header[name]; len(values) > 0 {
		c.given, c.value = true, values[0]
	}
	return c
}

// read decodes the member of the body.
func (c *choice) read(in *wire.Reader, name string) error {
	c.given, c.where, c.name = true, "body", name
	return in.String(&c.value)
}

// among returns the value, or other if there is none. It must be one of list.
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

// readPolicies reads the concurrency and disconnect policies of a run. The server's settings are the defaults.
func (s *Server) readPolicies(req *runRequest, concurrency, onDisconnect choice) error {
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

// createRequest is the body that creates a session.
type createRequest struct {
	id     string
	state  session.State
	events []*event.Event
}

// read decodes {"sessionId", "state", "events"}.
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

// isWrapper distinguishes the two bodies that clients send to create a session with an id: the wrapper, whose members all
// have known names and whose state is an object, and anything else, which is the state itself.
func isWrapper(members map[string]json.RawMessage) bool {
	state, wrapped := members["state"]
	if wrapped && !sessionrt.IsNull(state) && state[0] != '{' {
		return false
	}
	for name := range members {
		switch wire.Camel(name) {
		case "state", "events", "sessionId", "options":
		case "id", "appName", "userId", "lastUpdateTime": // members of a session; without others, they may be the state
			if !wrapped {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// noNulls refuses null in an initial state: null deletes a key, and a new session has none. path leads to the state in
// the body.
func noNulls(state session.State, path ...any) error {
	for _, k := range slices.Sorted(maps.Keys(state)) {
		if sessionrt.IsNull(state[k]) && !tool.IsSecret(k) { // a secret key is refused anyway
			return &wire.Error{
				Path: append(path, k), Type: "value_error",
				Msg: "A new session cannot have null values: omit the key",
			}
		}
	}
	return nil
}
