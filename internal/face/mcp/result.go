package mcp

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/session"
)

// content is a part of a result.
type content struct {
	Type     string            `json:"type"`
	Text     *string           `json:"text,omitempty"`
	Data     []byte            `json:"data,omitempty"`
	MIMEType string            `json:"mimeType,omitempty"`
	URI      string            `json:"uri,omitempty"`
	Name     string            `json:"name,omitempty"`
	Resource *resourceContents `json:"resource,omitempty"`
}

// resourceContents is a file.
type resourceContents struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     []byte  `json:"blob,omitempty"`
}

// toolResult is the result of a call.
type toolResult struct {
	Content    []content   `json:"content"`
	Structured *structured `json:"structuredContent,omitempty"`
	IsError    bool        `json:"isError,omitempty"`
}

// structured is the result for programs.
type structured struct {
	Session   string  `json:"session"`
	Run       string  `json:"run"`
	Text      string  `json:"text,omitempty"`
	Questions []asked `json:"questions,omitempty"`
}

func text(s string) content { return content{Type: "text", Text: &s} }

// failure returns a result that tells the model what is wrong.
func failure(message string) *toolResult {
	return &toolResult{Content: []content{text(message)}, IsError: true}
}

// outcome is what a run has said: the texts after its last call, or those before it if
// there are none.
type outcome struct {
	texts, before []string
	files         []content
	saved         map[string]int64
	failed        string
	sent          int
}

func (o *outcome) add(s *face.Step) {
	switch s.Kind {
	case face.TextEnd:
		if s.Author != event.User && s.Text != "" {
			o.texts, o.failed = append(o.texts, s.Text), ""
		}
	case face.Result:
		if len(o.texts) > 0 {
			o.before, o.texts = o.texts, nil
		}
	case face.File:
		o.files = append(o.files, fileContent(s.Part))
	case face.Saved:
		if o.saved == nil {
			o.saved = map[string]int64{}
		}
		maps.Copy(o.saved, s.Files)
	case face.Failure:
		if o.failed = s.Text; o.failed == "" {
			o.failed = s.Name
		}
	default: // the protocol does not have the others
	}
}

// fileContent returns a file as a part of a result.
func fileContent(p *event.Part) content {
	if f := p.FileData; f != nil {
		name := f.DisplayName
		if name == "" {
			name = f.FileURI
		}
		return content{Type: "resource_link", URI: f.FileURI, Name: name, MIMEType: f.MIMEType}
	}
	b := p.InlineData
	switch {
	case strings.HasPrefix(b.MIMEType, "image/"):
		return content{Type: "image", Data: b.Data, MIMEType: b.MIMEType}
	case strings.HasPrefix(b.MIMEType, "audio/"):
		return content{Type: "audio", Data: b.Data, MIMEType: b.MIMEType}
	}
	name := b.DisplayName
	if name == "" {
		name = "file"
	}
	return content{Type: "resource", Resource: &resourceContents{URI: "attachment:///" + name, MIMEType: b.MIMEType, Blob: b.Data}}
}

// result returns the result of a run that has ended.
func (o *outcome) result(row *session.Run) *toolResult {
	texts := o.texts
	if len(texts) == 0 {
		texts = o.before
	}
	r := &toolResult{Content: []content{}}
	problem := ""
	switch {
	case row.Status == session.Cancelled:
		problem = "The run was cancelled."
	case row.Failure != nil:
		problem = row.Failure.Message
	case row.Status == session.Failed:
		problem = "The run failed."
	case o.failed != "":
		problem = o.failed
	}
	for _, one := range texts {
		r.Content = append(r.Content, text(one))
	}
	if problem != "" {
		r.IsError = true
		r.Content = append(r.Content, text(problem))
	}
	r.Content = append(r.Content, o.files...)
	for _, name := range slices.Sorted(maps.Keys(o.saved)) {
		r.Content = append(r.Content, content{Type: "resource_link", URI: artifactURI(row.Key.ID, name), Name: name})
	}
	r.Structured = &structured{Session: row.Key.ID, Run: row.ID, Text: strings.Join(texts, "\n\n")}
	return r.named()
}

// named adds the session and the run for clients that show the content alone.
func (r *toolResult) named() *toolResult {
	doc, err := json.Marshal(structured{Session: r.Structured.Session, Run: r.Structured.Run})
	if err == nil {
		r.Content = append(r.Content, text(string(doc)))
	}
	return r
}
