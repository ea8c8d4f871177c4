package mcp

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/parley-run/parley/internal/run"
)

// Arguments that a schema marks are the same in the headers and in the body.
func TestParamHeaders(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},
		"size":{"type":"integer","x-mcp-header":"Size"},
		"dry":{"type":"boolean","x-mcp-header":"Dry"},
		"more":{"type":"object","properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}},
		"bad":null,"plain":{"type":"string"}}}`
	failed := errors.New("mismatch")
	bad := func(int, string, ...any) error { return failed }
	for name, tt := range map[string]struct {
		arguments string
		header    map[string]string
		want      error
	}{
		"none":            {`{"plain":"x"}`, nil, nil},
		"null":            {`{"region":null}`, nil, nil},
		"same":            {`{"region":"eu","size":42,"dry":true,"more":{"zone":"a"}}`, map[string]string{"Region": "eu", "Size": "42", "Dry": "true", "Zone": "a"}, nil},
		"another number":  {`{"size":42.0}`, map[string]string{"Size": "42"}, nil},
		"Base64":          {`{"region":"Zürich"}`, map[string]string{"Region": "=?base64?WsO8cmljaA==?="}, nil},
		"literal":         {`{"region":"=?base64?x"}`, map[string]string{"Region": "=?base64?x"}, nil},
		"no header":       {`{"region":"eu"}`, nil, failed},
		"no argument":     {`{}`, map[string]string{"Region": "eu"}, failed},
		"another value":   {`{"region":"eu"}`, map[string]string{"Region": "us"}, failed},
		"text as number":  {`{"region":"42.0"}`, map[string]string{"Region": "42"}, failed},
		"another boolean": {`{"dry":true}`, map[string]string{"Dry": "false"}, failed},
		"below":           {`{"more":{"zone":"a"}}`, map[string]string{"Zone": "b"}, failed},
		"bad padding":     {`{"region":"Hello"}`, map[string]string{"Region": "=?base64?SGVsbG8?="}, failed},
	} {
		header := http.Header{}
		for key, value := range tt.header {
			header.Set(paramPrefix+key, value)
		}
		if got := checkParams(header, json.RawMessage(schema), json.RawMessage(tt.arguments), bad); !errors.Is(got, tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	header := http.Header{}
	header.Add(paramPrefix+"Region", "eu")
	header.Add(paramPrefix+"Region", "us")
	if checkParams(header, json.RawMessage(schema), json.RawMessage(`{"region":"eu"}`), bad) == nil {
		t.Error("two values of a header are accepted")
	}
}

// A call that ends does not remove a later one with the same id, and a call is that of
// the run that continues it.
func TestCalls(t *testing.T) {
	t.Parallel()
	c, first, second := &calls{}, &run.Run{}, &run.Run{}
	one := c.add("id", first)
	two := c.add("id", first)
	one.forget()
	if c.find("id") != first {
		t.Error("the second call is gone")
	}
	two.is(second)
	if c.find("id") != second {
		t.Error("the call has not moved on")
	}
	two.forget()
	if c.find("id") != nil || len(c.runs) > 0 {
		t.Error("the call is still there")
	}
	c.add("", first).forget()
	if c.find("") != nil {
		t.Error("a call without an id is noted")
	}
}
