package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// oddValues are JSON texts that do not survive being read and written again, or
// that some column types refuse.
func oddValues() []string {
	return []string{
		// Text: NUL, which Postgres' jsonb and text refuse; halves of
		// surrogate pairs, which JavaScript makes when it cuts an emoji;
		// escapes that mean the same as what they stand for.
		`"\u0000"`, `"a\u0000b"`, `"\\u0000"`, `"\ud83d"`, `"x\ude00\ud83dy"`, `"😀"`, `"\ud83d\ude00"`, `"é"`, `"\u00e9"`, `"e` + "\u0301" + `"`,
		`"\/"`, `"/"`, `"\u2028"`, "\"\u2028\"", `"<&>"`, `"\u003c"`, "\"\ufeff\"", "\"\ufffd\"", "\"\U0010ffff\"", `"\"\\\b\f\n\r\t\u007f"`, "\"\x7f\"",
		`""`, `"null"`, `"'; DROP TABLE entries; --"`, `"$1 ? :a @b"`,
		// Numbers: beyond a float, beyond an int64, and spelled differently.
		`1e400`, `-1E-400`, `12345678901234567890`, `-9223372036854775809`, `1.0`, `1`, `1e0`, `1E+2`, `-0`, `0.10`,
		`3.14159265358979323846264338327950288419716939937510`, `9007199254740993`, strings.Repeat("9", 400),
		// Others: the order of names, names that come twice, depth, size.
		`true`, `false`, `[]`, `{}`, `{"":{"":[]}}`, `{"b":1,"a":2,"B":3}`, `{"a":1,"a":2}`, `[null,{"a":null}]`, `{"\u0000":"\u0000"}`,
		strings.Repeat("[", 1000) + strings.Repeat("]", 1000),
		strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000),
		`"` + strings.Repeat("x", 1<<20) + `"`,
		`"` + strings.Repeat(`\u0000😀`, 1<<12) + `"`,
	}
}

// carrying is an event with v wherever an event can carry a value.
func carrying(id, v string) *event.Event {
	raw := json.RawMessage(v)
	return &event.Event{
		ID: id, InvocationID: "i", Author: "agent", Timestamp: 1755700000.123456,
		Content: &event.Content{Role: event.RoleUser, Parts: []*event.Part{
			{FunctionResponse: &event.FunctionResponse{ID: "c", Name: "f", Response: json.RawMessage(`{"v":` + v + `}`)}},
			{Text: "\x00 \u2028 😀 <&> \"\\"},
		}},
		CustomMetadata: map[string]json.RawMessage{"v": raw},
	}
}

// An event is encoded once, and those bytes are what everyone gets forever: a
// client that has read a log compares, signs or caches it.
func bytesEntries(k *kit) {
	var log []*session.Entry
	k.create(key("s"), nil)
	epoch := k.acquire(key("s"))
	for i, v := range oddValues() {
		e := entry(carrying(fmt.Sprint("e", i), v))
		if !bytes.Contains(e.JSON, []byte(v)) {
			k.Fatalf("the encoding has lost %s", clip([]byte(v)))
		}
		if i%4 == 0 {
			k.patch(key("s"), e)
		} else {
			k.append(key("s"), epoch, e)
		}
		log = append(log, e)
	}
	k.hasLog(k.get(key("s")), log...)
	k.hasEntries(k.read(key("s"), session.Read{After: 11}), 11, log[11:])
	acquired, _, err := k.store.Acquire(k.Context(), key("s"))
	if err != nil {
		k.Fatal(err)
	}
	k.hasLog(acquired, log...)

	var again []*session.Entry
	for _, e := range log {
		again = append(again, &session.Entry{JSON: bytes.Clone(e.JSON), Event: e.Event})
	}
	k.hasLog(k.create(key("import"), nil, again...), log...)
	k.hasLog(k.get(key("import")), log...)
}

// A store keeps the bytes that it is given, not the event that they stand for:
// neither the order of the members, nor white space, nor what is not known.
func bytesLayout(k *kit) {
	ev := &event.Event{ID: "e", Author: "agent", Timestamp: 1}
	var log []*session.Entry
	for _, text := range []string{
		`{"timestamp":1.0,"author":"agent","id":"e","actions":{}}`,
		"{ \"id\" : \"e\",\n\t\"author\": \"agent\", \"timestamp\": 1e0 }\n",
		`{"id":"d","id":"e","author":"agent","timestamp":1,"of_tomorrow":{"b":1,"a":2}}`,
	} {
		log = append(log, &session.Entry{JSON: []byte(text), Event: ev})
	}
	k.create(key("s"), nil)
	k.append(key("s"), k.acquire(key("s")), log...)
	k.hasLog(k.get(key("s")), log...)
}

// The values of a state are the text that was set, in every scope, however
// they came.
func bytesState(k *kit) {
	k.create(key("s"), nil)
	k.create(key("sibling"), nil)
	epoch := k.acquire(key("s"))
	var all, shared, given []string
	for i, v := range oddValues() {
		own, user, app := fmt.Sprint("k", i), fmt.Sprint("user:k", i), fmt.Sprint("app:k", i)
		k.append(key("s"), epoch, set(fmt.Sprint("e", i), own, v, user, v, app, v))
		all = append(all, own, v, user, v, app, v)
		shared = append(shared, user, v, app, v)
		given = append(given, own, v, fmt.Sprint("user:g", i), v, fmt.Sprint("app:g", i), v)
	}
	k.hasState(k.get(key("s")), all...)
	k.hasState(k.read(key("s"), session.Read{NoEvents: true}), all...)
	k.hasState(k.get(key("sibling")), shared...)

	k.hasState(k.create(key("given"), state(given...)), append(given, shared...)...)
	k.hasState(k.get(key("given")), append(given, shared...)...)
	k.hasState(k.listed("given"), append(given, shared...)...)
}

// The keys of a state are the caller's words. They are not paths, patterns,
// numbers or identifiers, and are compared byte by byte.
func bytesStateKeys(k *kit) {
	names := []string{
		"", ".", "a.b", "a", "$.a", "$", "a[0]", "a/b", "a->b", "#", "-1", "0", "00", "*", "%", "_", "a%", "a_", "ab",
		"'", `"`, `\`, `\u0000`, `a"b`, "`", "';--", "A", "a ", " a", "\t", "\n", "\r\n", "\x01", "\x7f",
		"é", "e\u0301", "İ", "i", "ß", "SS", "ss", "日本語", "😀", "👩‍👩‍👧", "\u200b", "\u202e", "\ufeff", "\ufffd", "\U0010ffff",
		"null", "true", "__proto__", "constructor", "toString", "user", "app", "temp", "USER:a", "User:a", "user :a", "secret",
		strings.Repeat("k", 200), strings.Repeat("k", 201), strings.Repeat("😀", 50),
	}
	var at, delta []string
	for i, name := range names {
		for j, scope := range []string{"", "user:", "app:"} {
			pair := []string{scope + name, fmt.Sprint(3*i + j)}
			if i%2 == 0 {
				at = append(at, pair...)
			} else {
				delta = append(delta, pair...)
			}
		}
	}
	k.create(key("s"), state(at...))
	k.patch(key("s"), set("e", delta...))
	k.hasState(k.get(key("s")), append(at, delta...)...)

	// Each can be deleted, without its neighbours.
	var gone []string
	for i := 0; i < len(at); i += 2 {
		gone = append(gone, at[i], "null")
	}
	k.patch(key("s"), set("f", gone...))
	k.hasState(k.get(key("s")), delta...)
}
