package textsearch

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/parley-run/parley/event"
)

func TestTerms(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"The cat, the CAT; the cat's 9": "the cat s 9",
		"foo_bar a.b@c.d":               "foo bar a b c d",
		"नमस्ते दुनिया":                 "नमस्ते दुनिया",
		"Go言語 is 楽しい":                   "go 言 語 is 楽 し い",
		"🙂 !!!":                         "",
		strings.Repeat("ä", 70) + " b":  strings.Repeat("ä", 64) + " b",
	} {
		if got := Terms("", text); got != want {
			t.Errorf("%q has the words %q, want %q", text, got, want)
		}
	}
	if got := Terms("p", "a b"); got != "pa pb" {
		t.Errorf("with a prefix: %q", got)
	}
}

func TestQuery(t *testing.T) {
	for query, want := range map[string]string{
		`cats`:             `'cats':*`,
		`Cats dogs`:        `'cats' & 'dogs':*`,
		`"cats dogs"`:      `'cats' & 'dogs'`,
		`"cats dogs`:       `'cats' & 'dogs':*`,
		`a "b c" `:         `'a' & 'b' & 'c'`,
		`“b c” a`:          `'b' & 'c' & 'a':*`,
		`it's`:             `'it' & 's':*`,
		`x & y | !z <-> w`: `'x' & 'y' & 'z' & 'w':*`,
		`a a a`:            `'a' & 'a':*`,
	} {
		q, err := Parse(query)
		if err != nil || q.TSQuery("") != want {
			t.Errorf("Parse(%q) is %v (%v), want %s", query, q, err, want)
		}
	}
	q, err := Parse(`say "not this" OR`)
	if err != nil || q.FTS5("f0") != `"f0not" AND "f0say" AND "f0this" AND "f0or"*` {
		t.Errorf("for SQLite it is %s (%v)", q.FTS5("f0"), err)
	}
}

// The text of an event ends before a character that does not fit.
func TestLongText(t *testing.T) {
	for pad := range 4 {
		ev := &event.Event{Content: event.Text(event.RoleUser, strings.Repeat("x", pad)+strings.Repeat("猫", MaxText))}
		text := Of(ev).Text
		if !utf8.ValidString(text) || len(text) > MaxText || len(text) < MaxText-3 {
			t.Errorf("%d bytes, valid %v", len(text), utf8.ValidString(text))
		}
	}
}

// FuzzQuery checks that a query cannot have other syntax of a database than words in
// quotes, and that what it shows is of the text.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{`a b`, `"a b" c`, `' | 'x`, `" OR "x`, "\x00", "\xff\xfe", `a\'b`, "NEAR(a b, 2)", "a:*", "*", "^a", "x{}", "私の猫", "İ ſ ß", "e\u0301 \u0301"} {
		f.Add(s, "some a b text, and a 猫 "+s)
	}
	f.Fuzz(func(t *testing.T, query, text string) {
		if q, err := Parse(query); err == nil {
			for quote, all := range map[string]string{`"`: q.FTS5("0a"), `'`: q.TSQuery("0a")} {
				whole, begun := q.Terms()
				count := len(whole)
				if begun != "" {
					count++
				}
				if strings.Count(all, quote) != 2*count {
					t.Fatalf("%q has %d quotes for %d words", all, strings.Count(all, quote), count)
				}
				for i, part := range strings.Split(all, quote) {
					if i%2 == 0 {
						if !slices.Contains([]string{"", " AND ", " & ", "*", ":*"}, part) {
							t.Fatalf("%q has %q outside of quotes", all, part)
						}
						continue
					}
					for _, r := range part {
						if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) || r == utf8.RuneError {
							t.Fatalf("%q has %q in a word", all, r)
						}
					}
				}
			}
			if pieces, ok := q.Match(text); ok {
				marks := 0
				for _, p := range pieces {
					if p.Match {
						marks++
					}
				}
				if marks == 0 {
					t.Fatalf("%q in %q shows no match: %+v", query, text, pieces)
				}
			}
		}
		// A text is found by each of its words.
		valid := strings.ToValidUTF8(text, "\ufffd")
		for word := range strings.FieldsSeq(Terms("", valid)) {
			q, err := Parse(word)
			if err != nil {
				t.Fatalf("the word %q: %v", word, err)
			}
			if _, ok := q.Match(valid); !ok {
				t.Fatalf("%q does not match its word %q", valid, word)
			}
		}
	})
}
