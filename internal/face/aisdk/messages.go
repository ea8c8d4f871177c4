package aisdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// uiMessage is a UIMessage as clients have it.
type uiMessage struct {
	ID       string         `json:"id"`
	Role     string         `json:"role"`
	Metadata map[string]any `json:"metadata,omitempty"`
	Parts    []uiPart       `json:"parts"`
}

type uiPart map[string]any

// messages answers with the messages of a chat, for a page that is loaded again. The
// message of a run that is active is left out: the client gets it when it resumes the
// stream. A chat that does not exist has no messages.
func (s *server) messages(w http.ResponseWriter, r *http.Request) error {
	key, _, err := s.key(r, r.PathValue("chat"))
	if err != nil {
		return err
	}
	if _, err := s.Describe(key.App); err != nil {
		return err
	}
	rows, read, err := s.readChat(r, key)
	if err != nil {
		return err
	}
	f := &folder{rows: rows, runs: map[string]*folded{}, asked: map[string]*folded{}}
	for _, entry := range read {
		if err := f.add(entry); err != nil {
			return err
		}
	}
	doc, err := json.Marshal(f.messages())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(doc) // the client may have disconnected
	return nil
}

// readChat returns the runs of a chat by their ids, and its visible events.
func (s *server) readChat(r *http.Request, key session.Key) (map[string]*session.Run, []*session.Entry, error) {
	rows := map[string]*session.Run{}
	page := session.Page{Size: activePage}
	for {
		list, next, err := s.Engine().Runs(r.Context(), key, page)
		if errors.Is(err, session.ErrNotFound) {
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		for _, row := range list {
			rows[row.ID] = row
		}
		if page.Token = next; next == "" {
			break
		}
	}
	read, err := s.Sessions().Get(r.Context(), key, session.Read{})
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return rows, read.Seen(), nil
}

// folder makes messages of events.
type folder struct {
	rows  map[string]*session.Run
	list  []*folded
	runs  map[string]*folded // by the ids of runs
	asked map[string]*folded // by the ids of calls
}

// folded is a message that is being made. One of the agent is what a client makes of
// its chunks.
type folded struct {
	uiMessage
	enc    *encoder // nil for a message of the user
	steps  face.Transcript
	open   map[string]uiPart // texts and thoughts by their ids
	active bool
}

func (f *folder) add(entry *session.Entry) error {
	ev, err := entry.Decode()
	if err != nil {
		return err
	}
	m := f.runs[ev.InvocationID]
	switch {
	case ev.Author != event.User:
	case answers(ev) && m == nil: // its run continues the message that has asked
		for _, r := range ev.FunctionResponses() {
			if asking := f.asked[r.ID]; asking != nil {
				m = asking
			}
		}
		if m != nil {
			f.runs[ev.InvocationID] = m
		}
	case ev.Content != nil:
		if said := userMessage(ev); len(said.Parts) > 0 {
			f.list = append(f.list, &folded{uiMessage: said})
		}
	}
	if m == nil {
		m = &folded{uiMessage: uiMessage{Role: roleAssistant, Parts: []uiPart{}}, enc: newEncoder(ev.InvocationID), open: map[string]uiPart{}}
		m.chunks(m.enc.Begin(nil))
		f.runs[ev.InvocationID] = m
		f.list = append(f.list, m)
	}
	m.enc.run = ev.InvocationID
	if row := f.rows[ev.InvocationID]; row != nil {
		m.active = !row.Status.Ended()
	}
	for _, call := range ev.FunctionCalls() {
		f.asked[call.ID] = m
	}
	steps, err := m.steps.Item(nil, run.Item{Entry: entry, JSON: entry.JSON})
	if err != nil {
		return err
	}
	for i := range steps {
		to := m
		if with := f.asked[steps[i].ID]; with != nil && steps[i].Kind == face.Result {
			to = with // a result belongs to its call
		}
		to.chunks(to.enc.Step(nil, &steps[i], ""))
	}
	return nil
}

// messages returns what the client has when all runs that have ended are read.
func (f *folder) messages() []uiMessage {
	list := []uiMessage{}
	for _, m := range f.list {
		if m.active {
			continue
		}
		if m.enc != nil {
			for _, s := range m.steps.End(nil) {
				m.chunks(m.enc.Step(nil, &s, ""))
			}
			if row := f.rows[m.enc.run]; row != nil {
				m.chunks(m.enc.End(nil, row))
			}
			if len(m.Parts) == 0 {
				continue
			}
		}
		list = append(list, m.uiMessage)
	}
	return list
}

// userMessage returns a message of the user.
func userMessage(ev *event.Event) uiMessage {
	id := ev.ID
	if first, number, ok := strings.Cut(id, rerun); ok {
		if _, err := strconv.Atoi(number); err == nil {
			id = first
		}
	}
	m := uiMessage{ID: id, Role: roleUser}
	for _, p := range ev.Content.Parts {
		switch {
		case p.InlineData != nil:
			m.Parts = append(m.Parts, filePart(face.DataURL(p.InlineData), p.InlineData.MIMEType, p.InlineData.DisplayName))
		case p.FileData != nil:
			m.Parts = append(m.Parts, filePart(p.FileData.FileURI, p.FileData.MIMEType, p.FileData.DisplayName))
		case p.Text != "":
			m.Parts = append(m.Parts, uiPart{"type": "text", "text": p.Text})
		}
	}
	return m
}

func filePart(url, mediaType, name string) uiPart {
	p := uiPart{"type": "file", "url": url, "mediaType": mediaType}
	if name != "" {
		p["filename"] = name
	}
	return p
}

// chunks applies chunks to a message, as the client does.
func (m *folded) chunks(frames []byte) {
	for line := range bytes.Lines(frames) {
		doc, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		var c uiPart
		numbers := json.NewDecoder(bytes.NewReader(doc))
		numbers.UseNumber() // they stay as they are
		if numbers.Decode(&c) == nil {
			m.apply(c)
		}
	}
}

func (m *folded) apply(c uiPart) {
	kind, _ := c["type"].(string)
	id, _ := c["id"].(string)
	switch kind {
	case "start":
		m.ID, _ = c["messageId"].(string)
	case "start-step":
		m.Parts = append(m.Parts, uiPart{"type": "step-start"})
	case "text-start", "reasoning-start":
		p := uiPart{"type": strings.TrimSuffix(kind, "-start"), "text": "", "state": "streaming"}
		if kind == "reasoning-start" {
			p["id"] = id
		}
		m.open[id] = p
		m.Parts = append(m.Parts, p)
	case "text-delta", "reasoning-delta":
		if p := m.open[id]; p != nil {
			text, _ := p["text"].(string)
			delta, _ := c["delta"].(string)
			p["text"] = text + delta
		}
	case "text-end", "reasoning-end":
		if p := m.open[id]; p != nil {
			p["state"] = "done"
		}
	case "file":
		m.Parts = append(m.Parts, c)
	default:
		if strings.HasPrefix(kind, "data-") {
			m.data(c)
		} else {
			m.tool(kind, c)
		}
	}
	if more, ok := c["messageMetadata"].(map[string]any); ok {
		if m.Metadata == nil {
			m.Metadata = map[string]any{}
		}
		maps.Copy(m.Metadata, more)
	}
}

// data adds a data part, or replaces the one with its id.
func (m *folded) data(c uiPart) {
	for _, p := range m.Parts {
		if c["id"] != nil && p["id"] == c["id"] && p["type"] == c["type"] {
			p["data"] = c["data"]
			return
		}
	}
	m.Parts = append(m.Parts, c)
}

// tool adds or changes the part of a call.
func (m *folded) tool(kind string, c uiPart) {
	if kind == "tool-input-available" {
		p := uiPart{"toolCallId": c["toolCallId"], "state": "input-available", "input": c["input"]}
		name, _ := c["toolName"].(string)
		if c["dynamic"] == true {
			p["type"], p["toolName"], p["providerExecuted"] = "dynamic-tool", name, true
		} else {
			p["type"] = "tool-" + name
		}
		m.Parts = append(m.Parts, p)
		return
	}
	for _, p := range slices.Backward(m.Parts) {
		approval, _ := p["approval"].(uiPart)
		switch {
		case kind == "tool-approval-response" && approval != nil && approval["id"] == c["approvalId"]:
			p["state"], approval["approved"] = responded, c["approved"]
			if c["reason"] != nil {
				approval["reason"] = c["reason"]
			}
		case p["toolCallId"] == nil || p["toolCallId"] != c["toolCallId"]:
			continue
		case kind == "tool-approval-request":
			approval = uiPart{"id": c["approvalId"]}
			for from, to := range map[string]string{"reason": "requestReason", "approvalDescriptor": "descriptor"} {
				if c[from] != nil {
					approval[to] = c[from]
				}
			}
			p["state"], p["approval"] = "approval-requested", approval
		case kind == "tool-output-denied":
			p["state"] = "output-denied"
		case kind == "tool-output-available":
			p["state"], p["output"] = available, c["output"]
		case kind == "tool-output-error":
			p["state"], p["errorText"] = outputError, c["errorText"]
		}
		return
	}
}
