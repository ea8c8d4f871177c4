package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// utterance is a text of the user, parsed to look for arguments.
type utterance struct {
	text    string
	tokens  []token
	words   []word // of all tokens, in order
	numbers []number
	phrases []phrase
}

// token is what stands between spaces, or inside quotation marks.
type token struct {
	start, end int    // in the text, without punctuation around it
	low        string // the same in lower case
	words      []string
	quoted     bool
	comma      bool // one follows
	stop       bool // the sentence ends here
}

type word struct {
	stem  string
	token int
}

// span is a range of tokens.
type span struct{ from, to int }

// phrase is what follows a preposition. Its value ends where the thought does;
// its items go on to the end of the list: "with Ann, Bob and Eve".
type phrase struct {
	preposition string
	value       span
	items       []span
}

// parse reads the words, numbers and phrases of a text.
func parse(text string) *utterance {
	u := &utterance{text: clip(text, textLimit)}
	u.tokenize()
	for i, t := range u.tokens {
		for _, w := range t.words {
			u.words = append(u.words, word{w, i})
		}
		u.numbers = append(u.numbers, numbersIn(u.text[t.start:t.end], i)...)
	}
	for i, t := range u.tokens {
		if t.preposition() && !t.stop && i+1 < len(u.tokens) {
			u.phrases = append(u.phrases, u.phraseAt(i+1, t.low))
		}
	}
	return u
}

func (u *utterance) all() span { return span{0, len(u.tokens)} }

// places marks the tokens that say where: they are values of arguments, and do
// not say what the user wants.
func (u *utterance) places() []bool {
	marks := make([]bool, len(u.tokens))
	for _, ph := range u.phrases {
		if ph.preposition == "in" || ph.preposition == "near" || ph.preposition == "at" || ph.preposition == "from" {
			for i := ph.value.from; i < ph.value.to; i++ {
				marks[i] = true
			}
		}
	}
	return marks
}

// phraseAt reads on from a token.
func (u *utterance) phraseAt(from int, preposition string) phrase {
	ph := phrase{preposition: preposition, value: span{from, from}}
	item := span{from, from}
	next := func(to, start int) {
		if item.to = to; item.from < item.to {
			ph.items = append(ph.items, item)
		}
		item = span{start, start}
	}
	open := true // the value goes on
	for i := from; i < len(u.tokens); i++ {
		t := u.tokens[i]
		if t.preposition() || t.in(clauses) {
			next(i, i)
			return ph
		}
		if t.low == "and" || t.low == "or" || t.low == "&" {
			next(i, i+1)
			open = false
			continue
		}
		if open {
			ph.value.to = i + 1
		}
		if t.stop {
			next(i+1, i+1)
			return ph
		}
		if t.comma || t.quoted {
			next(i+1, i+1)
			// "Paris, France" is one value, "Paris, what else" is not.
			open = open && !t.quoted && i+1 < len(u.tokens) && u.capital(i+1)
		}
	}
	next(len(u.tokens), 0)
	return ph
}

func (u *utterance) capital(i int) bool {
	first, _ := utf8.DecodeRuneInString(u.text[u.tokens[i].start:])
	return unicode.IsUpper(first)
}

func (t token) preposition() bool {
	_, ok := hints[t.low]
	return ok && !t.quoted
}

// in reports whether the token is one word of the set.
func (t token) in(words map[string]bool) bool {
	return !t.quoted && len(t.words) == 1 && words[t.words[0]]
}

// slice is the text of a span, in the user's own letters.
func (u *utterance) slice(s span) string {
	return u.text[u.tokens[s.from].start:u.tokens[s.to-1].end]
}

var closing = map[rune]string{'"': `"`, '“': `”`, '„': `“`, '«': `»`, '`': "`", '\'': `'`, '‘': `’`}

func (u *utterance) tokenize() {
	for at := 0; at < len(u.text); {
		r, size := utf8.DecodeRuneInString(u.text[at:])
		if unicode.IsSpace(r) {
			at += size
			continue
		}
		if length := quotation(u.text[at+size:], closing[r]); length > 0 {
			start := at + size
			u.add(token{start: start, end: start + length, quoted: true})
			at = start + length + len(closing[r])
			continue
		}
		length := strings.IndexFunc(u.text[at:], unicode.IsSpace)
		if length < 0 {
			length = len(u.text) - at
		}
		raw := u.text[at : at+length]
		inner := strings.TrimLeft(raw, `"'“”„‘«¿¡`)
		start := at + len(raw) - len(inner)
		core := strings.TrimRight(inner, `.,;:!?…"'“”’»`)
		tail := inner[len(core):]
		if tail == "" && at+length < len(u.text) {
			core = strings.TrimSuffix(strings.TrimSuffix(core, "'s"), "’s") // Ann's cat
		}
		abbreviation := tail == "." && len(core) <= 2 && strings.ToLower(core) != core // St. Louis
		u.add(token{
			start: start,
			end:   start + len(core),
			comma: strings.HasPrefix(tail, ","),
			stop:  strings.ContainsAny(tail, ".;:!?…") && !abbreviation,
		})
		at += length
	}
}

func (u *utterance) add(t token) {
	text := u.text[t.start:t.end]
	if text == "" {
		if n := len(u.tokens); n > 0 { // punctuation by itself
			u.tokens[n-1].stop = u.tokens[n-1].stop || t.stop
			u.tokens[n-1].comma = u.tokens[n-1].comma || t.comma
		}
		return
	}
	t.low, t.words = strings.ToLower(text), words(text)
	u.tokens = append(u.tokens, t)
}

// quotation is the length of the text up to the mark that closes it, 0 if
// there is none. A mark inside of a word is an apostrophe.
func quotation(text, mark string) int {
	if mark == "" {
		return 0
	}
	for from := 0; ; {
		at := strings.Index(text[from:], mark)
		if at < 0 {
			return 0
		}
		at += from
		from = at + len(mark)
		if next, _ := utf8.DecodeRuneInString(text[from:]); !unicode.IsLetter(next) {
			return at
		}
	}
}
