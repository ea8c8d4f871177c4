// Package modelserver has servers that speak the wire formats of model
// providers, for tests. What they say is written once, in no provider's words;
// a dialect says it as its provider would, or fails as it would.
package modelserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Reply is what a model answers to one request.
type Reply struct {
	Thought   string // with a signature
	Text      []string
	Calls     []Call
	Finish    string // STOP when empty, MAX_TOKENS or SAFETY
	Usage     Usage
	Truncated bool   // the arguments of the last call are cut off
	Grounding string // what Gemini has found, as JSON

	// Status and Message refuse instead. RetryAfter is the header.
	Status     int
	Message    string
	RetryAfter string
	// Fault spoils a stream after so many of its events.
	Fault Fault
	After int
}

// Call is a call of a tool.
type Call struct{ ID, Name, Args string }

// Usage is what a request has cost: the prompt with what was cached of it, and
// the answer without thoughts.
type Usage struct{ Prompt, Cached, Thoughts, Answer int }

// Fault is a way in which a stream goes wrong.
type Fault string

// The ways: the connection is cut, the stream ends too early, the API reports an error, the response is not JSON, or it
// stalls.
const (
	Cut       Fault = "cut"
	Ends      Fault = "ends"
	Reports   Fault = "reports"
	Malformed Fault = "malformed"
	Hangs     Fault = "hangs"
)

// Asked is a request as the provider understood it.
type Asked struct {
	Model  string
	System string
	// Turns are who said what, such as "user: Hello" and "call c1 f {}".
	Turns []string
	Tools []string
	Body  json.RawMessage
}

// Dialect is the wire format of one provider.
type Dialect interface {
	// Name is the provider's.
	Name() string
	// Read understands a request, or says what the provider would refuse.
	Read(r *http.Request, body []byte) (asked Asked, stream bool, err error)
	// Events are the events of a stream, each with its line ends left out.
	Events(reply *Reply) []string
	// Whole is the answer without a stream.
	Whole(reply *Reply) string
	// Refusal is the body of an error.
	Refusal(status int, message string) string
	// Report is an event that reports an error.
	Report(message string) string
}

// Dialects are all of them.
var Dialects = []Dialect{Gemini{}, OpenAI{}, Anthropic{}}

// Server is a handler that plays replies, one for each request, and the last
// one again for all that follow.
type Server struct {
	Dialect Dialect
	Replies []Reply
	// ChunkSize is how many bytes of a stream are sent at once; 0 for an event.
	ChunkSize int
	// LineEnd ends the lines of a stream; "\n" when empty.
	LineEnd string

	mu    sync.Mutex
	asked []Asked
}

// Asked are the requests so far.
func (s *Server) Asked() []Asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	asked, stream, err := s.Dialect.Read(r, body)
	asked.Body = body
	s.mu.Lock()
	s.asked = append(s.asked, asked)
	reply := s.Replies[min(len(s.asked), len(s.Replies))-1]
	s.mu.Unlock()
	if err != nil {
		reply = Reply{Status: http.StatusBadRequest, Message: err.Error()}
	}
	switch {
	case reply.Status != 0:
		if reply.RetryAfter != "" {
			w.Header().Set("Retry-After", reply.RetryAfter)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(reply.Status)
		fmt.Fprint(w, s.Dialect.Refusal(reply.Status, reply.Message))
	case stream:
		s.stream(w, r, &reply)
	default:
		s.whole(w, r, &reply)
	}
}

func (s *Server) whole(w http.ResponseWriter, r *http.Request, reply *Reply) {
	w.Header().Set("Content-Type", "application/json")
	doc := s.Dialect.Whole(reply)
	switch reply.Fault {
	case "":
		fmt.Fprint(w, doc)
	case Hangs:
		<-r.Context().Done()
	case Malformed:
		fmt.Fprint(w, doc[:len(doc)/2])
	case Ends:
		fmt.Fprint(w, "{}")
	case Reports:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, s.Dialect.Refusal(http.StatusInternalServerError, reply.Message))
	case Cut:
		w.Header().Set("Content-Length", strconv.Itoa(len(doc)))
		fmt.Fprint(w, doc[:len(doc)/2])
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request, reply *Reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	events := s.Dialect.Events(reply)
	if reply.Fault != "" {
		events = events[:min(reply.After, len(events))]
	}
	switch reply.Fault {
	case Reports:
		events = append(events, s.Dialect.Report(reply.Message))
	case Malformed:
		broken := s.Dialect.Events(reply)[reply.After]
		events = append(events, broken[:len(broken)-3])
	default:
	}
	end := s.LineEnd
	if end == "" {
		end = "\n"
	}
	var all strings.Builder
	for _, e := range events {
		text := strings.ReplaceAll(e, "\n", end) + end + end
		if s.ChunkSize == 0 {
			send(w, text)
		}
		all.WriteString(text)
	}
	if s.ChunkSize > 0 {
		for piece := range slices.Chunk([]byte(all.String()), s.ChunkSize) {
			send(w, string(piece))
		}
	}
	switch reply.Fault {
	case Cut:
		panic(http.ErrAbortHandler)
	case Hangs:
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
	}
}

func send(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, text) // a client may leave
	w.(http.Flusher).Flush()
}

func encode(v any) string {
	doc, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(doc)
}

type object = map[string]any
