package run_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

// Tools of a client that no provider would accept, or that look like questions of the
// server, are refused before anything is stored.
func TestClientToolsAreChecked(t *testing.T) {
	t.Parallel()
	many := make([]tool.Declaration, 129)
	for i := range many {
		many[i].Name = "t" + strings.Repeat("x", i/60) + string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	h := newFixture(t, memstore.New(0), llm(scripted.New()))
	for name, tt := range map[string]struct {
		tools []tool.Declaration
		want  string
	}{
		"none":       {tools: nil},
		"no name":    {[]tool.Declaration{{}}, "tools.0.name"},
		"odd name":   {[]tool.Declaration{{Name: "a b"}}, "tools.0.name"},
		"reserved":   {[]tool.Declaration{{Name: tool.ConfirmationCall}}, "reserved"},
		"question":   {[]tool.Declaration{{Name: tool.InputCall}}, "reserved"},
		"choice":     {[]tool.Declaration{{Name: tool.ChoiceCall}}, "reserved"},
		"twice":      {[]tool.Declaration{{Name: "a"}, {Name: "a"}}, "tools.1.name"},
		"parameters": {[]tool.Declaration{{Name: "a", Parameters: []byte(`[]`)}}, "tools.0.parameters"},
		"too many":   {many, "at most 128"},
	} {
		_, err := h.Start(t.Context(), run.Request{Key: session.Key{App: "a", User: "u", ID: "missing"}, Message: event.Text(event.RoleUser, "go"), Tools: tt.tools})
		if refused, ok := errors.AsType[*wire.Error](err); ok != (tt.want != "") || ok && !strings.Contains(refused.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
