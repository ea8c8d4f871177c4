package offline

import (
	"regexp"

	"github.com/parley-run/parley/model"
)

// What a word of the user counts for, by where the tool has it.
const (
	inName      = 4
	inText      = 2 // of the description, a parameter's name or its values
	inFinePrint = 1 // of a parameter's description
	isWeak      = 1 // of the name, if half of all names have it; elsewhere, nothing

	wholeName = 2 // on top, when every word of the name was said
	enough    = 3 // to be picked
	enoughOf2 = 2 // when only one or two words say what the user wants
)

// textLimit bounds how much of a text is looked at. Users do not type more to a
// model that matches words, and work on what is pasted stays small.
const textLimit = 16 << 10

// tool is a declaration, ready to be matched and filled.
type tool struct {
	name   string
	params []*param // in the order of their declaration
	lexicon
}

// lexicon says how much a word counts.
type lexicon struct {
	weight map[string]int
	core   []string // the words of the name that count most
}

func newLexicon(name, description string) lexicon {
	l := lexicon{weight: map[string]int{}}
	var weak []string
	for _, w := range words(name) {
		switch {
		case weakWords[w]:
			l.weight[w] = isWeak
			weak = append(weak, w)
		case significant(w):
			l.weight[w] = inName
			l.core = append(l.core, w)
		}
	}
	if len(l.core) == 0 {
		l.core = weak
	}
	l.add(description, inText)
	return l
}

// examples are not what a description is about.
var examples = regexp.MustCompile(`\b(such as|[Ee]\.g\.|[Ff]or example|[Ff]or instance|like [A-Z])[^.;)]*`)

func (l lexicon) add(text string, weight int) {
	for _, w := range words(examples.ReplaceAllString(clip(text, textLimit), "")) {
		if significant(w) && !weakWords[w] {
			l.weight[w] = max(l.weight[w], weight)
		}
	}
}

func (l lexicon) named(w string) bool { return l.weight[w] == inName }

// score says how well the words fit.
func (l lexicon) score(said map[string]bool) int {
	total := 0
	for w := range said {
		total += l.weight[w]
	}
	for _, w := range l.core {
		if !said[w] {
			return total
		}
	}
	if len(l.core) > 0 {
		total += wholeName
	}
	return total
}

func readTools(decls []model.Declaration) []*tool {
	var tools []*tool
	for _, d := range decls {
		if d.Name == "" || d.Name == transferTool {
			continue
		}
		t := &tool{name: d.Name, params: readParams(d.Parameters), lexicon: newLexicon(d.Name, d.Description)}
		for _, p := range t.params {
			t.add(p.name, inText)
			t.add(p.schema.Description, inFinePrint)
			for _, v := range p.choices {
				t.add(plain(v), inText)
			}
		}
		tools = append(tools, t)
	}
	return tools
}

func find(tools []*tool, name string) *tool {
	for _, t := range tools {
		if t.name == name {
			return t
		}
	}
	return nil
}

// match picks the tool that the text asks for; nil when none is meant.
func match(tools []*tool, text string) *tool {
	said, threshold := significantWords(text)
	var best *tool
	top := threshold - 1
	for _, t := range tools {
		if s := t.score(said); s > top {
			best, top = t, s
		}
	}
	return best
}

// significantWords returns the words of a text that count, and how much a match of
// them must score.
func significantWords(text string) (said map[string]bool, threshold int) {
	u := parse(text)
	where := u.places()
	said = map[string]bool{}
	intent := 0
	for _, w := range u.words {
		if said[w.stem] || !significant(w.stem) && !weakWords[w.stem] {
			continue
		}
		said[w.stem] = true
		if !where[w.token] {
			intent++
		}
	}
	if intent <= 2 {
		return said, enoughOf2
	}
	return said, enough
}
