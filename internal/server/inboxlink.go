package server

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-run/parley/internal/inbox"
	"github.com/parley-run/parley/internal/wire"
)

// The page of a link works in a browser without scripts. Opening it changes nothing, because programs that check mails
// open the links in them.

// showLink shows what is asked, with a form for the answer.
func (s *Server) showLink(w http.ResponseWriter, r *http.Request) error {
	if err := s.limitVisitor(r); err != nil {
		s.linkFailed(w, r, err)
		return nil
	}
	token := r.URL.Query().Get("t")
	e, err := s.Inbox.Open(r.Context(), token)
	if err != nil {
		s.linkFailed(w, r, err)
		return nil
	}
	s.showEntry(w, http.StatusOK, e, token, "")
	return nil
}

// answerLink handles the form.
func (s *Server) answerLink(w http.ResponseWriter, r *http.Request) error {
	if err := s.limitVisitor(r); err != nil {
		s.linkFailed(w, r, err)
		return nil
	}
	r.Body = http.MaxBytesReader(w, r.Body, min(s.MaxBody, 1<<20))
	if err := r.ParseForm(); err != nil {
		s.linkFailed(w, r, &httpError{status: http.StatusBadRequest, message: "The form cannot be read"})
		return nil //nolint:nilerr // the page says it
	}
	token := r.PostForm.Get("t")
	_, err := s.Inbox.AnswerLink(r.Context(), token, func(e *inbox.Entry) (json.RawMessage, error) { return formAnswer(e, r.PostForm.Get) })
	if err == nil {
		showPage(w, http.StatusOK, loginPageData{Title: "Thank you", Text: "Your answer was received, and the agent goes on. You can close this window."})
		return nil
	}
	if e := toHTTP(err, subject{}); e.status == http.StatusUnprocessableEntity {
		if entry, err := s.Inbox.Open(r.Context(), token); err == nil {
			s.showEntry(w, e.status, entry, token, "The answer does not fit what is asked: "+e.message)
			return nil
		}
	}
	s.linkFailed(w, r, err)
	return nil
}

// linkFailed says in plain words why a link cannot be used.
func (s *Server) linkFailed(w http.ResponseWriter, r *http.Request, err error) {
	e := toHTTP(err, subject{})
	title := "This link cannot be used"
	switch e.status {
	case http.StatusConflict:
		title = "It is answered"
	case http.StatusGone:
		title = "This link has expired"
	case http.StatusTooManyRequests:
		title = "Too many requests"
	}
	e.setRetryAfter(w.Header())
	if e.status >= http.StatusInternalServerError && e.cause != nil {
		s.Log.ErrorContext(r.Context(), "an answer through a link failed", "request_id", w.Header().Get(requestIDHeader), "err", e.cause)
	}
	showPage(w, e.status, loginPageData{Title: title, Text: e.sentence()})
}

// showEntry shows an entry. problem is what was wrong with the last answer.
func (s *Server) showEntry(w http.ResponseWriter, status int, e *inbox.Linked, token, problem string) {
	var page strings.Builder
	format := func(text string, values ...string) {
		escaped := make([]any, len(values))
		for i, value := range values {
			escaped[i] = html.EscapeString(value)
		}
		fmt.Fprintf(&page, text, escaped...)
	}
	if e.Message != "" {
		format("<p><bdi>%s</bdi></p>\n", e.Message)
	}
	format("<p>The application <strong><bdi>%s</bdi></strong> asks this for its user <strong><bdi>%s</bdi></strong>, since %s.</p>\n", e.Key.App, e.Key.User, e.Since.Format(pageTime))
	if len(e.Args) > 0 && string(e.Args) != "{}" {
		format("<p>The arguments of <strong><bdi>%s</bdi></strong>:</p><pre>%s</pre>\n", e.Tool, indented(e.Args))
	}
	if problem != "" {
		format(`<p role="alert"><strong>%s</strong></p>`, problem)
	}
	if e.Kind == inbox.Login {
		if e.LoginURL != "" {
			format(`<p><a href="%s" rel="noreferrer">Log in</a></p>`, e.LoginURL)
		} else {
			format("<p>This login needs the application: open it, and log in there.</p>")
		}
	} else {
		format(`<form method="post" action="%s"><input type="hidden" name="t" value="%s">`+"\n", s.prefix()+linkPath, token)
		writeFields(format, e.Entry)
		format("</form>\n")
	}
	if !e.Until.IsZero() {
		format("<p>It can be answered until %s.</p>\n", e.Until.Format(pageTime))
	}
	if e.Until.IsZero() || e.Expires.Before(e.Until) {
		format("<p>This link can be used until %s.</p>\n", e.Expires.Format(pageTime))
	}
	showPage(w, status, loginPageData{Title: titles[e.Kind](e.Entry), Body: page.String()})
}

// pageTime is how pages write times.
const pageTime = "2 January 2006, 15:04 MST"

var titles = map[inbox.Kind]func(*inbox.Entry) string{
	inbox.Confirmation: func(e *inbox.Entry) string { return "May " + e.Tool + " be called?" },
	inbox.Input:        func(*inbox.Entry) string { return "An answer is needed" },
	inbox.Login:        func(*inbox.Entry) string { return "A login is needed" },
	inbox.Result:       func(e *inbox.Entry) string { return e.Tool + " waits for its result" },
}

// prefix returns the path of the public URL.
func (s *Server) prefix() string {
	if s.PublicURL == nil {
		return ""
	}
	return strings.TrimRight(s.PublicURL.EscapedPath(), "/")
}

func indented(doc json.RawMessage) string {
	var value any
	if json.Unmarshal(doc, &value) != nil {
		return string(doc)
	}
	out, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return string(doc)
	}
	return string(out)
}

// field is a field of a form, from the JSON Schema of the answer.
type field struct {
	Name, Title, Type string
	Options           []string
	Required          bool
}

// fieldsOf returns the fields for a schema: one for each property of an object. ok is false if a form cannot have them.
// whole means that there is one field for the whole answer.
func fieldsOf(schema json.RawMessage) (fields []field, whole, ok bool) {
	type property struct {
		Type        string            `json:"type"`
		Title       string            `json:"title"`
		Description string            `json:"description"`
		Enum        []json.RawMessage `json:"enum"`
	}
	var doc struct {
		property
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	if len(schema) == 0 {
		return []field{{Name: "answer", Title: "Your answer", Type: "string", Required: true}}, true, true
	}
	if json.Unmarshal(schema, &doc) != nil {
		return nil, false, false
	}
	fieldOf := func(name, title string, p property, required bool) (field, bool) {
		f := field{Name: name, Title: title, Type: strings.ToLower(p.Type), Required: required}
		if p.Title != "" {
			f.Title = p.Title
		}
		if p.Description != "" {
			f.Title += ": " + p.Description
		}
		for _, option := range p.Enum {
			var text string
			if json.Unmarshal(option, &text) != nil {
				return f, false
			}
			f.Options = append(f.Options, text)
		}
		return f, slices.Contains([]string{"string", "number", "integer", "boolean"}, f.Type)
	}
	if doc.Type != "" && !strings.EqualFold(doc.Type, "object") {
		f, ok := fieldOf("answer", "Your answer", doc.property, true)
		return []field{f}, true, ok
	}
	if len(doc.Properties) == 0 || len(doc.Properties) > 50 {
		return nil, false, false
	}
	names := make([]string, 0, len(doc.Properties))
	for name := range doc.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f, ok := fieldOf(name, name, doc.Properties[name], slices.Contains(doc.Required, name))
		if !ok {
			return nil, false, false
		}
		fields = append(fields, f)
	}
	return fields, false, true
}

// writeFields writes the fields and buttons of the form for an entry.
func writeFields(format func(string, ...string), e *inbox.Entry) {
	if e.Kind == inbox.Confirmation {
		if e.Payload != nil {
			format(`<p><label>What is confirmed, which you may change<br><textarea name="payload" rows="4" cols="40">%s</textarea></label></p>`+"\n", indented(e.Payload))
		}
		format(`<p><label>Reason, if you reject it<br><input name="reason" maxlength="1000"></label></p>
<p><button name="decision" value="approve">Approve</button> <button name="decision" value="reject">Reject</button></p>
`)
		return
	}
	fields, _, ok := formFields(e)
	if !ok {
		format(`<p><label>The answer, as JSON<br><textarea name="json" rows="6" cols="40" required>{}</textarea></label></p>` + "\n")
	}
	for _, f := range fields {
		required := ""
		if f.Required {
			required = " required"
		}
		name := "field." + f.Name
		switch {
		case len(f.Options) > 0:
			format(`<p><label>%s<br><select name="%s"`+required+`><option value=""></option>`, f.Title, name)
			for _, option := range f.Options {
				format(`<option>%s</option>`, option)
			}
			format("</select></label></p>\n")
		case f.Type == "boolean":
			format(`<p><label><input type="checkbox" name="%s" value="true"> %s</label></p>`+"\n", name, f.Title)
		case f.Type == "number" || f.Type == "integer":
			format(`<p><label>%s<br><input type="number" step="any" name="%s"`+required+"></label></p>\n", f.Title, name)
		default:
			format(`<p><label>%s<br><textarea name="%s" rows="3" cols="40"`+required+"></textarea></label></p>\n", f.Title, name)
		}
	}
	format("<p><button>Answer</button></p>\n")
}

// formFields returns the fields for the answer to an entry that is not a confirmation.
func formFields(e *inbox.Entry) (fields []field, whole, ok bool) {
	if e.Kind == inbox.Result {
		return nil, false, false
	}
	return fieldsOf(e.Schema)
}

// formAnswer returns the answer that a form has.
func formAnswer(e *inbox.Entry, get func(string) string) (json.RawMessage, error) {
	problem := func(msg string) error { return &wire.Error{Type: "value_error", Msg: msg} }
	switch e.Kind {
	case inbox.Login:
		return nil, problem("a login is not answered here")
	case inbox.Confirmation:
		return decisionOf(get, problem)
	case inbox.Input, inbox.Result:
	}
	fields, whole, ok := formFields(e)
	if !ok {
		doc := json.RawMessage(get("json"))
		if !json.Valid(doc) {
			return nil, problem("it is not JSON")
		}
		return doc, nil
	}
	values := map[string]any{}
	for _, f := range fields {
		text := strings.ReplaceAll(get("field."+f.Name), "\r\n", "\n")
		switch {
		case f.Type == "boolean":
			values[f.Name] = text == "true"
		case text == "" && !f.Required:
		case f.Type == "number" || f.Type == "integer":
			if _, err := strconv.ParseFloat(text, 64); err != nil {
				return nil, problem(f.Name + " must be a number")
			}
			values[f.Name] = json.Number(text)
		default:
			values[f.Name] = text
		}
	}
	if whole {
		return json.Marshal(values["answer"])
	}
	return json.Marshal(values)
}

// decisionOf returns the answer to a confirmation. Only a button decides.
func decisionOf(get func(string) string, problem func(string) error) (json.RawMessage, error) {
	doc := map[string]any{}
	switch get("decision") {
	case "approve":
		doc["confirmed"] = true
	case "reject":
		doc["confirmed"] = false
		if reason := get("reason"); reason != "" {
			doc["reason"] = reason[:min(len(reason), 4000)]
		}
	default:
		return nil, problem("press one of the buttons")
	}
	if payload := get("payload"); payload != "" {
		if !json.Valid([]byte(payload)) {
			return nil, problem("what is confirmed must be JSON")
		}
		doc["payload"] = json.RawMessage(payload)
	}
	return json.Marshal(doc)
}
