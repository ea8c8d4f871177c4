package session_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/session"
)

func TestMetadataOf(t *testing.T) {
	for text, want := range map[string]session.Metadata{
		``:                           {},
		`null`:                       {},
		`"Tea"`:                      {},
		`1`:                          {},
		`["Tea"]`:                    {},
		`{`:                          {},
		`{}`:                         {},
		`{"displayName":"Tea"}`:      {Title: "Tea"},
		`{"displayName":7}`:          {},
		`{"displayName":null}`:       {},
		`{"displayName":["T"]}`:      {},
		`{"displayname":"Tea"}`:      {}, // names are what they are
		`{"DISPLAYNAME":"Tea"}`:      {},
		`{"labels":{}}`:              {},
		`{"labels":null}`:            {},
		`{"labels":{"a":"1"}}`:       {Labels: map[string]string{"a": "1"}},
		`{"labels":{"a":"","":"b"}}`: {Labels: map[string]string{"a": "", "": "b"}},
		`{"labels":{"a":1,"b":null,"c":["x"],"d":"y"}}`:   {Labels: map[string]string{"d": "y"}},
		`{"displayName":"Tea","labels":["a"]}`:            {Title: "Tea"},
		`{"displayName":"Tea","labels":"a"}`:              {Title: "Tea"},
		`{"displayName":{},"labels":{"a":"1"}}`:           {Labels: map[string]string{"a": "1"}},
		`{"displayName":"A","displayName":"B"}`:           {Title: "B"},
		`{"displayName":"\u0000 \ud83d","other":1e400}`:   {Title: "\x00 \ufffd"},
		` { "displayName" : "Tea" , "labels" : { } } `:    {Title: "Tea"},
		`{"metadata":{"displayName":"Tea"},"labels":{}}`:  {},
		`{"displayName":"Tea","labels":{"a":{"b":"c"}}} `: {Title: "Tea"},
	} {
		if diff := cmp.Diff(want, session.MetadataOf(session.State{session.MetadataKey: json.RawMessage(text)})); diff != "" {
			t.Errorf("of %s (-want +got):\n%s", text, diff)
		}
	}
	shared := state("user:"+session.MetadataKey, `{"displayName":"Tea"}`, "app:"+session.MetadataKey, `{"displayName":"Tea"}`)
	for _, s := range []session.State{nil, {}, shared} {
		if diff := cmp.Diff(session.Metadata{}, session.MetadataOf(s)); diff != "" {
			t.Errorf("of %v (-want +got):\n%s", s, diff)
		}
	}
}

func TestFilter(t *testing.T) {
	now := time.Date(2025, 8, 20, 12, 0, 0, 0, time.UTC)
	m := session.Metadata{Title: "Green TEA für Ärzte", Labels: map[string]string{"a": "1", "b": ""}}
	for _, tt := range []struct {
		name   string
		filter session.Filter
		want   bool
	}{
		{"none", session.Filter{}, true},
		{"title", session.Filter{Title: "tea"}, true},
		{"title, other letters", session.Filter{Title: "FÜR ä"}, true},
		{"another title", session.Filter{Title: "coffee"}, false},
		{"a pattern", session.Filter{Title: "g%n"}, false},
		{"label", session.Filter{Labels: map[string]string{"a": "1"}}, true},
		{"empty label", session.Filter{Labels: map[string]string{"b": ""}}, true},
		{"no label", session.Filter{Labels: map[string]string{"c": ""}}, false},
		{"other case", session.Filter{Labels: map[string]string{"A": "1"}}, false},
		{"one of two", session.Filter{Labels: map[string]string{"a": "1", "b": "2"}}, false},
		{"since then", session.Filter{Since: now}, true},
		{"since later", session.Filter{Since: now.Add(1)}, false},
		{"before then", session.Filter{Before: now}, false},
		{"before later", session.Filter{Before: now.Add(1)}, true},
		{"all", session.Filter{Title: "t", Labels: map[string]string{"a": "1"}, Since: now, Before: now.Add(1)}, true},
	} {
		if got := tt.filter.Matches(m, &session.Session{Updated: now}); got != tt.want {
			t.Errorf("%s: matches is %v", tt.name, got)
		}
		if got := tt.filter.Empty(); got != (tt.name == "none") {
			t.Errorf("%s: empty is %v", tt.name, got)
		}
	}
	if !(&session.Filter{Labels: map[string]string{}}).Empty() {
		t.Error("a filter by no labels is not empty")
	}
}
