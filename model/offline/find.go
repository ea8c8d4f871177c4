package offline

import (
	"maps"
	"slices"
)

// hint is a set of words in the names of parameters that a preposition, or
// some other sign, points to.
type hint map[string]bool

func (h hint) fits(p *param) bool {
	for w := range p.words {
		if h[w] {
			return true
		}
	}
	return false
}

var (
	origins = hint(set(`from source src origin departure sender`))
	targets = hint(set(`to into target destination dest recipient receiver arrival language lang unit`))
	places  = hint(set(`in city town location place country region state area address where timezone zone language lang
		unit currency`))
	dates   = hint(set(`date day time when datetime deadline due`))
	topics  = hint(set(`about topic subject theme`))
	company = hint(set(`with participant attendee guest invitee`))
	names   = hint(set(`name title label`))

	// contents take any text, requests the user's own.
	contents = hint(set(`text message content body note query q term search keyword task todo expression formula fact
		sentence phrase`))
	requests = hint(set(`request question prompt input instruction`))

	// hints says which parameters each preposition is a sign of.
	hints = map[string]hint{
		"from": origins, "to": targets, "into": targets,
		"in": places, "near": places, "at": join(places, dates), "for": join(places, dates),
		"on": join(dates, topics), "about": topics, "of": join(topics, places),
		"with": company, "called": names, "named": names, "titled": names,
	}

	// clauses are words at which a phrase ends, besides the prepositions.
	clauses = set(`using via by as because that which who if when while then but until after before`)

	// articles may stand before a value and are no part of it.
	articles = set(`the a an my our your some is are that me it between`)
)

func join(a, b hint) hint {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

// of is the part of a phrase that is for the parameter.
func (p *param) of(ph phrase) []span {
	if p.list {
		return ph.items
	}
	return []span{ph.value}
}

// dates finds words such as tomorrow, and dates in digits.
func (f *filler) dates(p *param) []span {
	if !dates.fits(p) || places.fits(p) { // a time zone is a place
		return nil
	}
	return f.runs(func(i int) bool {
		t := f.tokens[i]
		return t.in(timeWords) || moment.MatchString(t.low)
	})
}

// hinted finds what follows a preposition that is a sign of the parameter.
func (f *filler) hinted(p *param) []span {
	var sure, unsure []span
	for _, ph := range f.phrases {
		if !hints[ph.preposition].fits(p) {
			continue
		}
		// "For 3 days" is rarely the name of a place.
		if first := f.tokens[ph.value.from].low[0]; first >= '0' && first <= '9' && !dates.fits(p) {
			unsure = append(unsure, p.of(ph)...)
		} else {
			sure = append(sure, p.of(ph)...)
		}
	}
	return append(sure, unsure...)
}

// quotes finds what stands in quotation marks.
func (f *filler) quotes(*param) []span {
	return f.runs(func(i int) bool { return f.tokens[i].quoted })
}

// content finds, for parameters that take any text, all that follows the name
// of the tool: "search for a hotel in Rome".
func (f *filler) content(p *param) []span {
	from := f.anchor()
	if from < 0 || p.list || !contents.fits(p) {
		return nil
	}
	for from < len(f.tokens) && (f.tokens[from].preposition() || f.used[from]) {
		from++
	}
	to := from
	for to < len(f.tokens) && !f.used[to] {
		to++
	}
	for to > from && (f.tokens[to-1].preposition() || f.tokens[to-1].in(articles)) {
		to-- // of what another parameter took
	}
	return []span{{from, to}}
}

// phrase finds what follows a preposition that says no more than that
// something follows. An answer needs none.
func (f *filler) phrase(p *param) []span {
	var found []span
	if f.answer && len(f.tokens) > 0 {
		found = p.of(f.phraseAt(0, ""))
	}
	for _, ph := range f.phrases {
		if !isDirection(ph) {
			found = append(found, p.of(ph)...)
		}
	}
	return found
}

// direction finds what follows "to" and "from". They come late because they
// have other uses: "is it going to rain?"
func (f *filler) direction(p *param) []span {
	var found []span
	for _, ph := range f.phrases {
		if isDirection(ph) {
			found = append(found, p.of(ph)...)
		}
	}
	return slices.DeleteFunc(found, f.aboutTool)
}

func isDirection(ph phrase) bool {
	return ph.preposition == "to" || ph.preposition == "into" || ph.preposition == "from"
}

// object finds what follows the name of the tool directly: "weather Paris".
func (f *filler) object(p *param) []span {
	from := f.anchor()
	if from < 0 || from == len(f.tokens) {
		return nil
	}
	return slices.DeleteFunc(p.of(f.phraseAt(from, "")), f.aboutTool)
}

// towns finds the names of places before an object is looked for: "is Rome's
// weather nice?"
func (f *filler) towns(p *param) []span {
	if !places.fits(p) {
		return nil
	}
	return f.capitals(p)
}

// capitals finds names. A word at the start of the text is the last choice:
// it has a capital anyway.
func (f *filler) capitals(*param) []span {
	found := f.runs(func(i int) bool {
		return f.capital(i) && !slices.ContainsFunc(f.tokens[i].words, func(w string) bool {
			return !significant(w) || weakWords[w] || f.named(w) || i == 0 && f.weight[w] >= inText
		})
	})
	if len(found) > 1 && found[0].from == 0 {
		found = append(found[1:], found[0])
	}
	return found
}

// runs are the longest spans of unused tokens that all fit. Quotations, and
// what punctuation divides, are spans of their own.
func (f *filler) runs(fits func(i int) bool) []span {
	var list []span
	for i := 0; i < len(f.tokens); i++ {
		from := i
		for i < len(f.tokens) && !f.used[i] && fits(i) {
			t := f.tokens[i]
			i++
			if t.quoted || t.comma || t.stop {
				break
			}
		}
		if i > from {
			list = append(list, span{from, i})
			i--
		}
	}
	return list
}

// anchor is the place after the words that name the tool, or, when there are
// none, that describe it; -1 when there are none either.
func (f *filler) anchor() int {
	if f.answer {
		return 0
	}
	at := f.end(func(w string) bool { return slices.Contains(f.core, w) })
	if at < 0 {
		at = f.end(func(w string) bool { return f.weight[w] >= inText })
	}
	return at
}

// end is the place after the first group of tokens with such words; words that
// say nothing do not divide a group.
func (f *filler) end(such func(string) bool) int {
	at := -1
	for i, t := range f.tokens {
		switch {
		case slices.ContainsFunc(t.words, such):
			at = i + 1
		case at >= 0 && !t.in(stopWords):
			return at
		}
	}
	return at
}

// aboutTool reports whether a span only says which tool is meant.
func (f *filler) aboutTool(s span) bool {
	for i := s.from; i < s.to; i++ {
		for _, w := range f.tokens[i].words {
			name := i > 0 && f.capital(i) // descriptions give examples
			if !stopWords[w] && (f.weight[w] < inText || name) {
				return false
			}
		}
	}
	return true
}
