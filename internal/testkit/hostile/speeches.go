package hostile

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-run/parley/internal/testkit/modelserver"
)

const mark = "MARK"

// Model is an answer of a model.
func Model(d modelserver.Dialect, stream bool) Speech {
	if !stream {
		begin, end, _ := strings.Cut(d.Whole(&modelserver.Reply{Text: []string{mark}}), mark)
		return Speech{Type: "application/json", Begin: begin, Piece: "word ", End: end}
	}
	s := Speech{Type: "text/event-stream", Line: "data: "}
	for _, e := range d.Events(&modelserver.Reply{Text: []string{"one ", mark + " "}}) {
		e += "\n\n"
		switch {
		case strings.Contains(e, mark):
			s.Piece = e
		case s.Piece == "":
			s.Begin += e
		default:
			s.End += e
		}
	}
	return s
}

// ModelCalls is Model, with the calls.
func ModelCalls(d modelserver.Dialect, stream bool) Speech {
	s, reply := Model(d, stream), &modelserver.Reply{}
	for i := range 10_000 {
		reply.Calls = append(reply.Calls, modelserver.Call{ID: fmt.Sprintf("c%d", i), Name: "f", Args: `{"n":1}`})
	}
	if stream {
		s.Calls = strings.Join(d.Events(reply), "\n\n") + "\n\n"
	} else {
		s.Calls = d.Whole(reply)
	}
	return s
}

// JSON is an object with the members that are given, and one more, which is a
// long text.
func JSON(members map[string]any) Speech {
	doc, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	begin := strings.TrimSuffix(string(doc), "}")
	if len(members) > 0 {
		begin += ","
	}
	return Speech{Type: "application/json", Begin: begin + `"text":"`, Piece: "word ", End: `"}`}
}

// MCP is the result of a call in the Model Context Protocol. request is the
// message that asks for it.
func MCP(request []byte, stream bool) Speech {
	var asked struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(request, &asked) // what has no id gets no answer
	s := Speech{
		Type: "application/json", Piece: "word ",
		Begin: `{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"content":[{"type":"text","text":"`,
		End:   `"}]}}` + "\n",
	}
	if stream {
		s.Type, s.Line, s.Begin, s.End = "text/event-stream", "data: ", "data: "+s.Begin, s.End+"\n"
	}
	return s
}
