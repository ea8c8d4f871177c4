package offline

import (
	"encoding/json"
	"slices"
	"strings"
)

// fill finds the arguments of a tool in what the user said. A later text
// answers the question for what an earlier one did not give.
func fill(t *tool, texts []string) (args map[string]any, missing []string) {
	args = map[string]any{}
	for i, text := range texts {
		f := &filler{tool: t, utterance: parse(text), full: strings.TrimSpace(text), answer: i > 0, args: args}
		f.used = make([]bool, len(f.tokens))
		f.run()
	}
	for _, p := range t.params {
		if _, ok := args[p.name]; ok || !p.required {
			continue
		}
		switch d := p.schema.Default; {
		case len(d) > 0 && string(d) != "null":
			args[p.name] = d
		case len(p.choices) == 1 && !p.list:
			args[p.name] = p.choices[0]
		default:
			missing = append(missing, p.name)
		}
	}
	return args, missing
}

// filler looks for the arguments in one text. What one of them takes is not
// there for another.
type filler struct {
	*tool
	*utterance
	full   string
	answer bool // the text answers a question for arguments
	used   []bool
	args   map[string]any
}

// run goes from what is certain to what is a guess, and at each step through
// all parameters, so that a guess for one cannot take what is certain for
// another.
func (f *filler) run() {
	f.requests()
	f.choices()
	f.flags()
	f.assign(f.open(), f.dates)
	f.assign(f.open(), f.hinted)
	f.assign(f.open(), f.quotes)
	f.amounts()
	for _, guess := range []finder{f.content, f.phrase, f.towns, f.object, f.direction, f.capitals} {
		f.assign(f.needed(), guess)
	}
	f.rest()
}

// open are the parameters that have no value yet, the required ones first.
func (f *filler) open() []*param {
	var required, optional []*param
	for _, p := range f.params {
		if _, ok := f.args[p.name]; ok {
			continue
		}
		if p.required {
			required = append(required, p)
		} else {
			optional = append(optional, p)
		}
	}
	return append(required, optional...)
}

// needed are the open parameters that are worth a guess: the required ones,
// or, of a tool that requires none and has got nothing so far, the first.
func (f *filler) needed() []*param {
	open := f.open()
	switch {
	case slices.ContainsFunc(f.params, func(p *param) bool { return p.required }):
		return slices.DeleteFunc(open, func(p *param) bool { return !p.required })
	case len(f.args) > 0 || len(open) == 0:
		return nil
	}
	return open[:1]
}

// A finder proposes places of a parameter's value, the best first.
type finder func(*param) []span

// assign gives each parameter that takes text what find proposes for it.
func (f *filler) assign(params []*param, find finder) {
	for _, p := range params {
		if !p.textual() {
			continue
		}
		var texts []string
		for _, s := range find(p) {
			if s = f.trim(s, p); f.free(s) && (p.list || len(texts) == 0) {
				texts = append(texts, f.take(s))
			}
		}
		put(f, p, texts)
	}
}

// put sets a parameter to what was found, if anything was.
func put[T any](f *filler, p *param, found []T) {
	switch {
	case len(found) == 0:
	case p.list:
		f.args[p.name] = found
	default:
		f.args[p.name] = found[0]
	}
}

func (f *filler) free(s span) bool {
	return s.from < s.to && !slices.Contains(f.used[s.from:s.to], true)
}

func (f *filler) take(s span) string {
	for i := s.from; i < s.to; i++ {
		f.used[i] = true
	}
	return f.slice(s)
}

// trim drops what does not belong to a value: articles before it, and polite
// words and times after it. Nothing stays of a span that says nothing else
// than the name of the tool or of the parameter.
func (f *filler) trim(s span, p *param) span {
	if s.from < s.to && f.tokens[s.from].quoted {
		return span{s.from, s.from + 1}
	}
	for s.from < s.to && f.tokens[s.from].in(articles) && !f.capital(s.from) {
		s.from++
	}
	for s.from < s.to && f.trails(s.to-1, p) {
		s.to--
	}
	for i := s.from; i < s.to; i++ {
		for _, w := range f.tokens[i].words {
			if !stopWords[w] && !f.named(w) && !p.words[w] {
				return s
			}
		}
		if len(f.tokens[i].words) == 0 {
			return s // of signs only
		}
	}
	return span{}
}

func (f *filler) trails(i int, p *param) bool {
	t := f.tokens[i]
	switch {
	case t.in(politeWords), t.low == "you" && i > 0 && f.tokens[i-1].low == "thank":
		return true
	case contents.fits(p):
		return false
	}
	return t.in(trailers) || t.in(timeWords) && !dates.fits(p)
}

// requests gives the whole text to parameters that are there for it, such as
// the one of an agent that is used as a tool.
func (f *filler) requests() {
	for _, p := range f.open() {
		if p.textual() && !p.list && !f.answer && f.full != "" && requests.fits(p) {
			f.args[p.name] = f.full
		}
	}
}

// choices finds values that the schema lists; first those in the right place,
// so that "from EUR to USD" needs no luck.
func (f *filler) choices() {
	for _, p := range f.open() {
		for _, ph := range f.phrases {
			if hints[ph.preposition].fits(p) {
				f.choose(p, ph.value)
			}
		}
	}
	for _, p := range f.open() {
		f.choose(p, f.all())
	}
}

func (f *filler) choose(p *param, within span) {
	if _, ok := f.args[p.name]; ok || len(p.choices) == 0 {
		return
	}
	var found []json.RawMessage
	for _, m := range f.mentions(p.choices, within) {
		if f.free(m.span) && (p.list || len(found) == 0) {
			f.take(m.span)
			found = append(found, m.value)
		}
	}
	put(f, p, found)
}

func (f *filler) flags() {
	for _, p := range f.open() {
		if p.kind != "boolean" || p.list {
			continue
		}
		if value, at, ok := f.flag(f.used); ok {
			f.used[at] = true
			f.args[p.name] = value
		}
	}
}

// amounts hands out the numbers in the order of the parameters. When there are
// too few, the required ones come first.
func (f *filler) amounts() {
	var params []*param
	for _, p := range f.open() {
		if (p.kind == "number" || p.kind == "integer") && len(p.choices) == 0 {
			params = append(params, p)
		}
	}
	left := slices.DeleteFunc(slices.Clone(f.numbers), func(n number) bool { return f.used[n.token] })
	if len(left) >= len(params) {
		slices.SortFunc(params, func(a, b *param) int {
			return slices.Index(f.params, a) - slices.Index(f.params, b)
		})
	}
	for _, p := range params {
		var values []json.Number
		for i := 0; i < len(left) && (p.list || len(values) == 0); {
			if p.kind == "integer" && !left[i].whole() {
				i++
				continue
			}
			f.used[left[i].token] = true
			values = append(values, json.Number(left[i].text))
			left = slices.Delete(left, i, i+1)
		}
		put(f, p, values)
	}
}

// rest gives the whole text to the only parameter that is required, if the
// text says more than which tool is meant.
func (f *filler) rest() {
	required := slices.DeleteFunc(slices.Clone(f.params), func(p *param) bool { return !p.required })
	if len(required) != 1 {
		return
	}
	p := required[0]
	if _, ok := f.args[p.name]; ok || !p.textual() || p.list {
		return
	}
	for _, w := range f.words {
		if significant(w.stem) && !weakWords[w.stem] && f.weight[w.stem] < inText {
			f.args[p.name] = f.full
			return
		}
	}
}
