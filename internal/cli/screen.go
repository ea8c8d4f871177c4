package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
)

// screen shows a conversation as it arrives.
type screen struct {
	out  io.Writer
	size func() (columns, rows int) // nil if unknown
	dim  bool
	text markdown         // of the unfinished line, where there are styles
	open string           // the author of the unfinished line, or empty
	said map[string]*said // the shown part of incomplete answers, by author
}

// said is the part of an answer that has arrived.
type said struct {
	text string
	late bool // another one was being shown: this one is shown when it is complete
}

func newScreen(env *Env) *screen {
	return &screen{out: env.Stdout, size: env.Size, dim: env.styled(), said: map[string]*said{}}
}

// line shows a line without an author.
func (s *screen) line(text string) {
	s.end()
	fmt.Fprintln(s.out, clean(text))
}

// show shows an event: partial texts as they arrive, and calls and their results on
// their own lines.
func (s *screen) show(ev *event.Event) {
	if ev.Content == nil {
		return
	}
	text := ev.Content.Text()
	if ev.Partial {
		s.piece(ev.Author, text)
		return
	}
	s.whole(ev.Author, text)
	for _, part := range ev.Content.Parts {
		switch {
		case part.FunctionCall != nil && (tool.IsCredentialCall(part.FunctionCall.Name) || questionIn(part.FunctionCall) != nil):
			// The user is told what to do when the turn is over.
		case part.FunctionCall != nil:
			s.note("→", part.FunctionCall.Name, short(part.FunctionCall.Args))
		case part.FunctionResponse != nil && asks(ev, part.FunctionResponse.ID):
			// It only says that the user is asked, which is shown then.
		case part.FunctionResponse != nil:
			s.note("←", part.FunctionResponse.Name, short(part.FunctionResponse.Response))
		case part.InlineData != nil:
			s.note("+", part.InlineData.MIMEType, fmt.Sprintf("(%d bytes)", len(part.InlineData.Data)))
		case part.FileData != nil:
			s.note("+", part.FileData.MIMEType, part.FileData.FileURI)
		}
	}
}

// asks reports whether an event requests a confirmation or a login for the call with
// the id.
func asks(ev *event.Event, id string) bool {
	_, confirmation := ev.Actions.RequestedToolConfirmations[id]
	_, login := ev.Actions.RequestedAuthConfigs[id]
	return confirmation || login
}

// piece shows a part of an answer. If agents answer concurrently, the first one is
// shown as it arrives, and the others when they are complete.
func (s *screen) piece(author, text string) {
	if text == "" {
		return
	}
	so := s.said[author]
	if so == nil {
		so = &said{late: s.open != "" && s.open != author}
		s.said[author] = so
	}
	if !so.late {
		so.text += text
		s.speak(author, text)
	}
}

// whole shows the missing part of a complete answer.
func (s *screen) whole(author, text string) {
	if so := s.said[author]; so != nil {
		delete(s.said, author)
		rest, begun := strings.CutPrefix(text, so.text)
		if !begun {
			s.end() // it was changed in the meantime
		}
		text = rest
	}
	if text != "" {
		s.speak(author, text)
	}
	if s.open == author {
		s.end()
	}
}

// speak continues an author's line, or begins it.
func (s *screen) speak(author, text string) {
	if s.open != author {
		s.end()
		begin := fmt.Sprintf("[%s]: ", clean(author))
		fmt.Fprint(s.out, begin)
		s.open = author
		if s.text = (markdown{column: utf8.RuneCountInString(begin)}); s.size != nil {
			s.text.width, _ = s.size()
		}
	}
	text = clean(text)
	if s.dim {
		text = s.text.write(text)
	}
	fmt.Fprint(s.out, text)
}

// note shows an action of an agent.
func (s *screen) note(sign, name, detail string) {
	s.end()
	text := "  " + sign + " " + clean(name+" "+detail)
	if s.dim {
		text = styleDim + text + styleReset
	}
	fmt.Fprintln(s.out, text)
}

// end ends the unfinished line.
func (s *screen) end() {
	if s.open != "" {
		if s.dim {
			fmt.Fprint(s.out, s.text.end())
		}
		fmt.Fprintln(s.out)
		s.open = ""
	}
}

// finish ends a turn. Incomplete answers will not be completed.
func (s *screen) finish() {
	s.end()
	clear(s.said)
}

// maxDetail limits how much of arguments and results is shown.
const maxDetail = 200

// short returns JSON on one line of limited length.
func short(value json.RawMessage) string {
	var one bytes.Buffer
	if json.Compact(&one, value) != nil {
		return ""
	}
	text := one.String()
	if utf8.RuneCountInString(text) <= maxDetail {
		return text
	}
	return string([]rune(text)[:maxDetail]) + "…"
}

// clean removes control characters from text, so that neither models nor tools can
// control the terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}
