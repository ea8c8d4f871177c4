package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/wire"
)

func TestCamel(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"id":                    "id",
		"appName":               "appName",
		"app_name":              "appName",
		"long_running_tool_ids": "longRunningToolIds",
		"render_ui_widgets":     "renderUiWidgets",
		"fileURI":               "fileURI",
		"appName_two":           "appNameTwo",
		"part_2":                "part2",
		// Unknown names must not turn into names of the contract.
		"_":      "_",
		"__":     "__",
		"_text":  "_text",
		"text_":  "text_",
		"te__xt": "te__xt",
	} {
		if got := wire.Camel(in); got != want {
			t.Errorf("Camel(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestErrorText(t *testing.T) {
	for _, tt := range []struct {
		err  *wire.Error
		want string
	}{
		{&wire.Error{Msg: "bad"}, "bad"},
		{&wire.Error{Path: []any{"parts", 0, "text"}, Msg: "bad"}, "parts.0.text: bad"},
		{wire.Missing("body", "userId"), "body.userId: Field required"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// sample has a member for each kind of value that a Reader can read.
type sample struct {
	Text   string
	ID     string
	On     bool
	Ratio  float64
	Count  int64
	Tags   []string
	Any    json.RawMessage
	Object json.RawMessage
	Map    map[string]json.RawMessage
	Kids   []*sample
}

func (s *sample) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "text":
			return r.String(&s.Text)
		case "id":
			return r.ID(&s.ID)
		case "isOn":
			return r.Bool(&s.On)
		case "ratio":
			return r.Float(&s.Ratio)
		case "count":
			return r.Int(&s.Count)
		case "tags":
			return r.Strings(&s.Tags)
		case "any":
			return r.Raw(&s.Any)
		case "object":
			return r.RawObject(&s.Object)
		case "map":
			return r.RawMap(&s.Map)
		case "kids":
			return r.Array(func() error {
				kid := &sample{}
				s.Kids = append(s.Kids, kid)
				return kid.read(r)
			})
		}
		return r.Skip()
	})
}

func TestDecode(t *testing.T) {
	tests := []struct {
		name, doc string
		want      sample
	}{
		{"empty", ` {} `, sample{}},
		{"both spellings", `{"isOn":true,"kids":[{"is_on":true}]}`, sample{On: true, Kids: []*sample{{On: true}}}},
		{"null is absence", `{"text":null,"is_on":null,"ratio":null,"count":null,"tags":null,"any":null,"object":null,"map":null,"kids":null}`, sample{}},
		{"null in a map is data", `{"map":{"a":null}}`, sample{Map: map[string]json.RawMessage{"a": json.RawMessage(`null`)}}},
		{"keys of maps are data", `{"map":{"is_on":1,"":2}}`, sample{Map: map[string]json.RawMessage{"is_on": json.RawMessage(`1`), "": json.RawMessage(`2`)}}},
		{"unknown", `{"x":{"y":[1,{"z":null}]},"text":"a"}`, sample{Text: "a"}},
		{"arrays are never nil", `{"tags":[],"map":{}}`, sample{Tags: []string{}, Map: map[string]json.RawMessage{}}},
		{"both spellings of one value", `{"is_on":true,"isOn" : true}`, sample{On: true}},
		{"null does not contradict", `{"is_on":true,"isOn":null}`, sample{On: true}},
		{"an escaped emoji in a key", `{"map":{"\ud83d\ude00":1}}`, sample{Map: map[string]json.RawMessage{"😀": json.RawMessage(`1`)}}},
		{"the last one wins", `{"text":"a","text":"b"}`, sample{Text: "b"}},
		{
			"whole numbers", `{"kids":[{"count":-9223372036854775808},{"count":9223372036854775807},{"count":9007199254740993},{"count":5.0},{"count":1e3},{"count":-0}]}`,
			sample{Kids: []*sample{{Count: math.MinInt64}, {Count: math.MaxInt64}, {Count: 9007199254740993}, {Count: 5}, {Count: 1000}, {}}},
		},
		{"escapes", `{"text":"\u0000\ud83d\ude00\/\n\ud83d"}`, sample{Text: "\x00😀/\n\uFFFD"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got sample
			if err := wire.Decode([]byte(tt.doc), got.read); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	tests := []struct {
		name, doc string
		path      []any
		typ, msg  string // msg is a part of it
	}{
		{"object", `[]`, nil, "object_type", "object"},
		{"top-level null", `null`, nil, "object_type", "object"},
		{"string", `{"text":5}`, []any{"text"}, "string_type", "string"},
		{"as the client spelled it", `{"is_on":"yes"}`, []any{"is_on"}, "bool_type", "true or false"},
		{"number", `{"ratio":"1"}`, []any{"ratio"}, "float_type", "number"},
		{"number out of range", `{"ratio":1e400}`, []any{"ratio"}, "float_type", "range"},
		{"fraction", `{"count":1.5}`, []any{"count"}, "int_type", "whole"},
		{"integer out of range", `{"count":9223372036854775808}`, []any{"count"}, "int_type", "whole"},
		{"negative integer out of range", `{"count":-9223372036854777856}`, []any{"count"}, "int_type", "whole"},
		{"array", `{"kids":{}}`, []any{"kids"}, "list_type", "array"},
		{"raw object", `{"object":[]}`, []any{"object"}, "dict_type", "object"},
		{"map", `{"map":[]}`, []any{"map"}, "object_type", "object"},
		// The tokenizer counts what it has read; the culprit is what comes next.
		{"first element", `{"tags":[5]}`, []any{"tags", 0}, "string_type", "string"},
		{"later element", `{"tags":["a","b",5]}`, []any{"tags", 2}, "string_type", "string"},
		{"null element", `{"tags":["a",null]}`, []any{"tags", 1}, "string_type", "string"},
		{"element after an object", `{"kids":[{"text":"a"},5]}`, []any{"kids", 1}, "object_type", "object"},
		{"inside of elements", `{"kids":[{},{"kids":[{},{},{"text":{}}]}]}`, []any{"kids", 1, "kids", 2, "text"}, "string_type", "string"},
		{"truncated", `{"kids":[{"text":"a"},`, nil, "json_invalid", "unexpected EOF"},
		{"empty", ``, nil, "json_invalid", "too early"},
		{"white space", " \n", nil, "json_invalid", "too early"},
		{"no colon", `{"text" 5}`, nil, "json_invalid", "at byte 8"},
		{"trailing comma", `{"tags":["a",]}`, nil, "json_invalid", "invalid character"},
		{"bare word in an array", `{"tags":[x]}`, nil, "json_invalid", "invalid character"},
		{"trailing value", `{} {}`, nil, "json_invalid", "after the JSON value"},
		{"trailing bracket", `{}}`, nil, "json_invalid", "after the JSON value"},
		{"trailing NUL", "{}\x00", nil, "json_invalid", "after the JSON value"},
		{"not UTF-8", "{\"text\":\"\xff\"}", nil, "json_invalid", "UTF-8"},
		{"not UTF-8 where it is skipped", "{\"x\":\"\xff\"}", nil, "json_invalid", "UTF-8"},
		{"encoded surrogate", "{\"text\":\"\xed\xa0\xbd\"}", nil, "json_invalid", "UTF-8"},
		{"control character", "{\"text\":\"a\nb\"}", nil, "json_invalid", "invalid character"},
		{"deep raw value", `{"any":` + deep + `}`, nil, "json_invalid", "depth"},
		{"deep unknown value", `{"x":` + deep + `}`, nil, "json_invalid", "depth"},
		{"deep members", strings.Repeat(`{"kids":[`, 20_000), nil, "json_invalid", "depth"},
		{"two spellings, two values", `{"isOn":true,"is_on":false}`, []any{"is_on"}, "value_error", "isOn and is_on are the same member"},
		{"two spellings among many", `{"isOn":true,` + manyNames(1000) + `"is_on":false}`, []any{"is_on"}, "value_error", "same member"},
		{"two spellings after many", `{` + manyNames(1000) + `"isOn":true,"is_on":false}`, []any{"is_on"}, "value_error", "same member"},
		{"half a pair in an identifier", `{"id":"a\ud83d"}`, []any{"id"}, "value_error", "surrogate"},
		{"an identifier that is none", `{"id":5}`, []any{"id"}, "string_type", "string"},
		{"half a pair in a key", `{"map":{"\ud83d":1}}`, []any{"map", "\uFFFD"}, "value_error", "surrogate"},
		{"deeper than we keep", `{"any":` + nest(9_001) + `}`, []any{"any"}, "json_invalid", "deep"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := wire.Decode([]byte(tt.doc), new(sample).read)
			e, ok := errors.AsType[*wire.Error](err)
			if !ok {
				t.Fatalf("got %v, want a *wire.Error", err)
			}
			if diff := cmp.Diff(tt.path, e.Path); diff != "" {
				t.Errorf("path: -want +got:\n%s", diff)
			}
			if e.Type != tt.typ || !strings.Contains(e.Msg, tt.msg) {
				t.Errorf("got %s %q, want %s …%s…", e.Type, e.Msg, tt.typ, tt.msg)
			}
		})
	}
}

// manyNames are members whose names have more than one word.
func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"someName%d":1,`, i)
	}
	return b.String()
}

// A key that looks like a position is still a key: clients follow the path
// into what they sent.
func TestPathKeepsKeys(t *testing.T) {
	err := wire.Decode([]byte(`{"7":{"a~/b":[[0,"x"]]}}`), func(r *wire.Reader) error {
		var n int64
		return r.Members(func(string) error {
			return r.Members(func(string) error {
				return r.Array(func() error {
					return r.Array(func() error { return r.Int(&n) })
				})
			})
		})
	})
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		t.Fatalf("got %v, want a *wire.Error", err)
	}
	if diff := cmp.Diff([]any{"7", "a~/b", 0, 1}, e.Path); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// nest is an array inside of an array, n times.
func nest(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestRawIsExact(t *testing.T) {
	brackets := strings.Repeat("[", 100_000)
	tests := []struct{ doc, want string }{
		{`12345678901234567890.10`, ``},
		{`1.0`, ``},
		{`-0`, ``},
		{`1E+400`, ``},
		{`"\u0041\/<\u003c\ud83d"`, ``},
		{`"\u0000"`, ``},
		{`"😀 \u2028"`, ``},
		{`{"a":1,"a":2}`, ``},
		{`{"snake_case":null}`, ``},
		{"\t{ \"b\" : 1 ,\r\n\"a\":[ ] } ", `{"b":1,"a":[]}`},
		{` " kept  inside " `, `" kept  inside "`},
		{` null `, `null`},
		{`"` + strings.Repeat("x", 1<<20) + `"`, ``},
		{nest(5_000), ``},
		{nest(9_000), ``},
		// Long, full of brackets, and not deep.
		{`"` + brackets + `"`, ``},
		{`["\"` + brackets + `\\"]`, ``},
		{`[` + strings.Repeat("[],", 100_000) + `[]]`, ``},
	}
	for _, tt := range tests {
		want := tt.want
		if want == "" {
			want = tt.doc
		}
		var got json.RawMessage
		if err := wire.Decode([]byte(tt.doc), func(r *wire.Reader) error { return r.Raw(&got) }); err != nil {
			t.Errorf("%.40s: %v", tt.doc, err)
		} else if string(got) != want {
			t.Errorf("%.40s: got %.40s, want %.40s", tt.doc, got, want)
		}
	}
}

func TestCompact(t *testing.T) {
	const prefix = "data: "
	for _, tt := range []struct{ in, want string }{ // want is empty for an error
		{"{\r\n \"a\" : [1,\n2] }\n", `{"a":[1,2]}`},
		{`"a"`, `"a"`},
		{``, ``},
		{` `, ``},
		{`{`, ``},
		{`{} {}`, ``},
		{`undefined`, ``},
		{`'a'`, ``},
		{"\"\xff\"", ``}, // it would make the whole stream unreadable
		{nest(9_001), ``},
	} {
		got, err := wire.Compact([]byte(prefix), json.RawMessage(tt.in))
		if (err != nil) != (tt.want == "") || string(got) != prefix+tt.want {
			t.Errorf("%.40q: got %.40q and %v, want %q", tt.in, got, err, prefix+tt.want)
		}
	}
}

func TestQuoteAndNumber(t *testing.T) {
	if got, want := string(wire.Quote(nil, "a\"\\\n\x00<é😀\xff")), `"a\"\\\n\u0000<é😀`+"\uFFFD\""; got != want {
		t.Errorf("Quote: got %s, want %s", got, want)
	}
	for f, want := range map[float64]string{0: "0", 1743712220.385936: "1743712220.385936", 1e21: "1e+21", -1.5: "-1.5"} {
		if got := string(wire.Number(nil, f)); got != want {
			t.Errorf("Number: got %s, want %s", got, want)
		}
	}
}

// readAny reads any value with the methods that callers use.
func readAny(r *wire.Reader) (v any, err error) {
	switch r.Kind() {
	case 'n':
		if !r.Null() {
			err = r.Skip() // broken: let it say how
		}
		return nil, err
	case 't', 'f':
		var b bool
		err = r.Bool(&b)
		return b, err
	case '"':
		var s string
		err = r.String(&s)
		return s, err
	case '0':
		var f float64
		err = r.Float(&f)
		return f, err
	case '[':
		list := []any{}
		err = r.Array(func() error {
			item, err := readAny(r)
			list = append(list, item)
			return err
		})
		return list, err
	case '{':
		m := map[string]any{}
		err = r.Members(func(name string) error {
			m[name], err = readAny(r)
			return err
		})
		return m, err
	}
	return nil, r.Skip()
}

// FuzzReader compares with encoding/json, which has been fuzzed for longer.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.5e3,"\ud83d\u0000",true,false,null,{"":{}}]}`, ` [ ] `, `nul`, `[nul]`, `{"a":nul}`, `1e400`,
		`{"a":1,"a":2}`, `[1,]`, `{"a"}`, `{} x`, "\"\xff\"", ``, `[`, `-`, `"\`, nest(50),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		before := bytes.Clone(doc)
		var got any
		err := wire.Decode(doc, func(r *wire.Reader) (err error) { got, err = readAny(r); return err })
		var raw json.RawMessage
		rawErr := wire.Decode(doc, func(r *wire.Reader) error { return r.Raw(&raw) })
		_ = wire.Decode(doc, new(sample).read)
		if !bytes.Equal(before, doc) {
			t.Fatal("the document was changed")
		}
		if bytes.Count(doc, []byte("["))+bytes.Count(doc, []byte("{")) > 9_000 {
			return // the limits differ
		}
		var want any
		wantErr := json.Unmarshal(doc, &want)
		if !utf8.Valid(doc) {
			wantErr = errors.New("not UTF-8")
		}
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("got error %v, encoding/json says %v", err, wantErr)
		}
		// Not cmp: its time doubles with every level of nesting.
		if err == nil && !reflect.DeepEqual(want, got) {
			t.Fatalf("got %v, encoding/json reads %v", got, want)
		}
		if wire.Valid(doc) != json.Valid(doc) {
			t.Fatalf("Valid says %t", wire.Valid(doc))
		}
		if valid := json.Valid(doc) && utf8.Valid(doc); valid != (rawErr == nil) {
			t.Fatalf("valid: %t, but Raw says %v", valid, rawErr)
		} else if valid {
			var compact bytes.Buffer
			if err := json.Compact(&compact, doc); err != nil || compact.String() != string(raw) {
				t.Fatalf("got %s, encoding/json makes it %s", raw, &compact)
			}
		}
	})
}

// What is spelled without the library is spelled as the library does it.
func TestQuoteAgrees(t *testing.T) {
	for c := range 256 {
		cases := []string{string([]byte{byte(c)}), "a" + string([]byte{byte(c)}) + "b", string(rune(c))}
		for i := range 20 { // at every place of a word of eight bytes, and after the last one
			for _, other := range []byte{' ', 'a', 0x7f} {
				s := bytes.Repeat([]byte{other}, 20)
				s[i] = byte(c)
				cases = append(cases, string(s))
			}
		}
		for _, s := range cases {
			want, _ := jsontext.AppendQuote([]byte("x"), s)
			if got := wire.Quote([]byte("x"), s); !bytes.Equal(got, want) {
				t.Errorf("%q is quoted as %s, want %s", s, got, want)
			}
		}
	}
}

func BenchmarkQuote(b *testing.B) {
	text, dst := strings.Repeat("The weather in New York is sunny. ", 3), make([]byte, 0, 200)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		dst = wire.Quote(dst[:0], text)
	}
}

// BenchmarkDecode reads what a request for a run has.
func BenchmarkDecode(b *testing.B) {
	doc := []byte(`{"id":"weather","text":"user","any":"s-1","kids":[{"text":"user","kids":[{"text":"What is the weather in Paris?"}]}],"isOn":false}`)
	for b.Loop() {
		if err := wire.Decode(doc, new(sample).read); err != nil {
			b.Fatal(err)
		}
	}
}

// pair is a declared type, as events are.
type pair struct{ text string }

func init() {
	wire.Declare(func(p *pair, r *wire.Reader) error {
		return r.Object(func(string) error { return r.String(&p.text) })
	})
}

func TestValueSaysWhereInTheDocument(t *testing.T) {
	read := func(doc string) (list []pair, err error) {
		err = wire.Decode([]byte(doc), func(r *wire.Reader) error {
			return r.Object(func(string) error {
				return r.Array(func() error {
					var p pair
					err := r.Value(&p)
					list = append(list, p)
					return err
				})
			})
		})
		return list, err
	}
	if list, err := read(`{"pairs":[{"text":"a"},{"text":"b"}]}`); err != nil || len(list) != 2 || list[1].text != "b" {
		t.Errorf("read %v, %v", list, err)
	}
	for doc, want := range map[string]string{
		`{"pairs":[{"text":"a"},{"text":1}]}`: "pairs.1.text: Input should be a string",
		`{"pairs":[{"text":"a"},null]}`:       "pairs.1: Input should be an object",
		`{"pairs":[{"text":"a"},{"text":}]}`:  "JSON decode error: ",
	} {
		if _, err := read(doc); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", doc, err, want)
		}
	}
}
