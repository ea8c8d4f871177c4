package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/sharelink"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// What a link leads to is public for those who have it. A visitor gets what was said up to the moment of the link: events
// are copied member by member, so that what is added to events is not shown unless it is added here, too.

const (
	sharedPrefix = "/shared/"
	sharedPath   = sharedPrefix + "{token}"
	// maxVisits is the number of requests with links per minute from one address. Behind a proxy, all visitors have one
	// address.
	maxVisits = 600
)

// loggedPath returns the path of a request for the log: without the token of a link.
func loggedPath(r *http.Request) string {
	if strings.HasPrefix(r.URL.Path, sharedPrefix) {
		return sharedPath
	}
	return r.URL.Path
}

// sharedView is what a link shows.
type sharedView struct {
	AppName      string        `json:"appName"`
	Title        string        `json:"title"`
	IncludeTools bool          `json:"includeTools"`
	ShareTime    float64       `json:"shareTime"`
	ExpireTime   float64       `json:"expireTime"`
	Events       []sharedEvent `json:"events"`
	files        []sharedBytes
}

type sharedEvent struct {
	// Turn counts the messages before it.
	Turn      int          `json:"turn"`
	Author    string       `json:"author"`
	Timestamp float64      `json:"timestamp"`
	Parts     []sharedPart `json:"parts"`
	ErrorCode string       `json:"errorCode,omitempty"`
	Error     string       `json:"errorMessage,omitempty"`
}

// sharedPart has one of its members. Those of tools are named as in events.
type sharedPart struct {
	Text                *string     `json:"text,omitempty"`
	Thought             bool        `json:"thought,omitempty"`
	File                *sharedFile `json:"file,omitempty"`
	FunctionCall        *sharedCall `json:"functionCall,omitempty"`
	FunctionResponse    *sharedCall `json:"functionResponse,omitempty"`
	ExecutableCode      *sharedCode `json:"executableCode,omitempty"`
	CodeExecutionResult *sharedCode `json:"codeExecutionResult,omitempty"`
}

type sharedFile struct {
	Name     string `json:"name"`
	MIMEType string `json:"mimeType,omitempty"`
	// Path is relative to the link; empty for a file that is stored elsewhere.
	Path string `json:"path,omitempty"`
}

type sharedCall struct {
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
}

type sharedCode struct {
	Code     string `json:"code,omitempty"`
	Language string `json:"language,omitempty"`
	Outcome  string `json:"outcome,omitempty"`
	Output   string `json:"output,omitempty"`
}

// sharedBytes is the content of a file: the data, or a version of an artifact.
type sharedBytes struct {
	sharedFile
	data    []byte
	version int64 // of the artifact that is called Name, if there is no data
}

// limitVisitor refuses a visitor without an account whose address sends too many requests.
func (s *Server) limitVisitor(r *http.Request) error {
	visitor, err := access.Local(r) // by its address
	if err != nil {
		return err
	}
	if wait := s.visits.Wait(visitor.ID, ""); wait > 0 {
		return &httpError{status: http.StatusTooManyRequests, after: wait, message: "Too many requests: try again later"}
	}
	return nil
}

// visit returns what the link of a request shows.
func (s *Server) visit(w http.ResponseWriter, r *http.Request) (*sharedView, session.Key, error) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Robots-Tag", "noindex, nofollow, noarchive")
	h.Set("X-Content-Type-Options", "nosniff")
	if err := s.limitVisitor(r); err != nil {
		return nil, session.Key{}, err
	}
	link, err := s.shares.Open(r.Context(), r.PathValue("token"))
	if errors.Is(err, sharelink.ErrNone) {
		return nil, session.Key{}, errNoLink
	}
	if err != nil {
		return nil, session.Key{}, err
	}
	found, err := s.Store.Get(r.Context(), link.Key, session.Read{Damaged: true})
	if errors.Is(err, session.ErrNotFound) {
		return nil, session.Key{}, errNoLink
	}
	if err != nil {
		return nil, session.Key{}, err
	}
	return viewOfShared(link, found.Entries), link.Key, nil
}

// errNoLink is the same for links that never existed and for those that do not count any more.
var errNoLink = &httpError{status: http.StatusNotFound, message: "Not Found: the link is wrong, has expired, or was revoked"}

// viewOfShared returns the events of a log up to the moment of a link.
func viewOfShared(link *sharelink.Link, log []*session.Entry) *sharedView {
	v := &sharedView{
		AppName: link.Key.App, IncludeTools: link.Tools, ShareTime: event.Seconds(link.Created), ExpireTime: event.Seconds(link.Expires),
		Events: []sharedEvent{},
	}
	// What was rewound by then stays so, and what was rewound since is shown: the moment does not change.
	end, _ := slices.BinarySearchFunc(log, link.Seq+1, func(e *session.Entry, seq int64) int { return cmp.Compare(e.Seq, seq) })
	turn := 0
	for _, entry := range session.Visible(log[:end]) {
		ev, err := entry.Decode()
		if err != nil {
			continue
		}
		one := sharedEvent{Author: ev.Author, Timestamp: ev.Timestamp, Parts: v.parts(ev)}
		if ev.ErrorCode != "" {
			one.ErrorCode = ev.ErrorCode
			if link.Tools { // it may quote a result
				one.Error = ev.ErrorMessage
			}
		}
		if len(one.Parts) == 0 && one.ErrorCode == "" {
			continue
		}
		if ev.Author == event.User {
			turn++
			if v.Title == "" {
				v.Title = spoken(ev, titleRunes)
			}
		}
		one.Turn = turn
		v.Events = append(v.Events, one)
	}
	return v
}

// parts returns what is shown of an event.
func (v *sharedView) parts(ev *event.Event) []sharedPart {
	var out []sharedPart
	if ev.Content != nil {
		for _, p := range ev.Content.Parts {
			if one, ok := v.part(p); ok {
				out = append(out, one)
			}
		}
	}
	if ev.Author == event.User || v.IncludeTools { // of an agent, they are results of its tools and code
		for _, name := range sortedNames(ev.Actions.ArtifactDelta) {
			out = append(out, sharedPart{File: v.file(sharedBytes{sharedFile: sharedFile{Name: name}, version: ev.Actions.ArtifactDelta[name]})})
		}
	}
	return out
}

func (v *sharedView) part(p *event.Part) (out sharedPart, ok bool) {
	switch {
	case p.InlineData != nil:
		name := cmp.Or(p.InlineData.DisplayName, "file")
		out.File = v.file(sharedBytes{sharedFile: sharedFile{Name: name, MIMEType: p.InlineData.MIMEType}, data: p.InlineData.Data})
		return out, true
	case p.FileData != nil: // its address may be a secret
		out.File = &sharedFile{Name: cmp.Or(p.FileData.DisplayName, "file"), MIMEType: p.FileData.MIMEType}
		return out, true
	case p.IsText() && !p.Thought:
		out.Text = &p.Text
		return out, p.Text != ""
	case !v.IncludeTools:
		return out, false
	case p.IsText():
		out.Text, out.Thought = &p.Text, true
		return out, p.Text != ""
	case p.FunctionCall != nil:
		out.FunctionCall = &sharedCall{Name: p.FunctionCall.Name}
		if !asks(p.FunctionCall.Name) {
			out.FunctionCall.Args = p.FunctionCall.Args
		}
		return out, true
	case p.FunctionResponse != nil:
		out.FunctionResponse = &sharedCall{Name: p.FunctionResponse.Name}
		if !asks(p.FunctionResponse.Name) {
			out.FunctionResponse.Response = p.FunctionResponse.Response
		}
		return out, true
	case p.ExecutableCode != nil:
		out.ExecutableCode = &sharedCode{Code: p.ExecutableCode.Code, Language: p.ExecutableCode.Language}
		return out, true
	case p.CodeExecutionResult != nil:
		out.CodeExecutionResult = &sharedCode{Outcome: p.CodeExecutionResult.Outcome, Output: p.CodeExecutionResult.Output}
		return out, true
	}
	return out, false
}

// asks reports whether a call is a question of the server, such as for a login. Its arguments and answers are between
// the server and its user.
func asks(name string) bool {
	return strings.HasPrefix(name, "adk_request_") || name == tool.ChoiceCall
}

// file adds a file to those that the link leads to.
func (v *sharedView) file(f sharedBytes) *sharedFile {
	f.Path = "files/" + strconv.Itoa(len(v.files))
	v.files = append(v.files, f)
	shown := f.sharedFile
	return &shown
}

func sortedNames(delta map[string]int64) []string {
	var names []string
	for name := range delta {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// sharedConversation answers with what a link shows, as JSON.
func (s *Server) sharedConversation(w http.ResponseWriter, r *http.Request) error {
	view, _, err := s.visit(w, r)
	if err != nil {
		return err
	}
	return answer(w, view)
}

// sharedPage answers with the page of a link: that of the UI, which reads the conversation.
func (s *Server) sharedPage(w http.ResponseWriter, r *http.Request) error {
	_, _, err := s.visit(w, r)
	if err != nil {
		e := toHTTP(err, subject{})
		if e.cause != nil {
			return err
		}
		title := "There is nothing here"
		if e.after > 0 {
			title = "Too many requests"
			e.setRetryAfter(w.Header())
		}
		showPage(w, e.status, loginPageData{Title: title, Text: e.sentence()})
		return nil
	}
	page := r.Clone(r.Context())
	page.URL = &url.URL{Path: "/"}
	s.UI.ServeHTTP(w, page)
	return nil
}

// sharedFile answers with a file of a conversation.
func (s *Server) sharedFile(w http.ResponseWriter, r *http.Request) error {
	view, key, err := s.visit(w, r)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(r.PathValue("file"))
	if err != nil || n < 0 || n >= len(view.files) {
		return errNoLink
	}
	f := view.files[n]
	h := w.Header()
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	if f.data == nil {
		a, content, err := s.Artifacts.In(artifact.Place{App: key.App, User: key.User, Session: key.ID}).Open(r.Context(), f.Name, f.version)
		if errors.Is(err, tool.ErrNoArtifact) {
			return errNoLink
		}
		if err != nil {
			return err
		}
		defer content.Close()
		// The versions of a file that was deleted and saved again begin at 0.
		if a.FileURI != "" || event.Seconds(a.Created) > view.ShareTime+1 {
			return errNoLink
		}
		return download(w, r, a, content)
	}
	h.Set("Content-Type", cmp.Or(f.MIMEType, "application/octet-stream"))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(f.Name)}))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
	return nil
}
