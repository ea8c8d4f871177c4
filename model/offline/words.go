package offline

import (
	"strings"
	"unicode"
)

// words splits text into lower-case stems. Identifiers come apart at
// underscores, hyphens and humps, so that rollDie and "roll a die" meet.
func words(text string) []string {
	var list []string
	runes := []rune(text)
	start := -1 // of the current word
	flush := func(end int) {
		if start >= 0 {
			list = append(list, stem(strings.ToLower(string(runes[start:end]))))
			start = -1
		}
	}
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if start >= 0 && hump(runes, i) {
				flush(i)
			}
			if start < 0 {
				start = i
			}
		case (r == '\'' || r == '’') && start >= 0:
			// what's, don't, Ann's: what comes after says nothing.
			flush(i)
			for i+1 < len(runes) && unicode.IsLetter(runes[i+1]) {
				i++
			}
		default:
			flush(i)
		}
	}
	flush(len(runes))
	return list
}

func hump(runes []rune, i int) bool {
	if !unicode.IsUpper(runes[i]) {
		return false
	}
	endOfAcronym := i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1])
	return unicode.IsLower(runes[i-1]) || endOfAcronym
}

// stem cuts a lower-case word down to what its forms share. The result need
// not be a word; it only has to be the same for both sides of a match.
func stem(w string) string {
	cut := func(suffix string, longer int) bool {
		if len(w) > longer && strings.HasSuffix(w, suffix) {
			w = w[:len(w)-len(suffix)]
			return true
		}
		return false
	}
	switch {
	case w == "news": // else every New York is news
		return w
	case cut("ies", 4):
		w += "y"
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
	default:
		if len(w) > 4 && (strings.HasSuffix(w, "ches") || strings.HasSuffix(w, "shes") || strings.HasSuffix(w, "sses") || strings.HasSuffix(w, "xes")) {
			cut("es", 4)
		} else {
			cut("s", 3)
		}
	}
	switch {
	case cut("ing", 5), cut("ed", 4):
		if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeioulsz", rune(w[n-1])) {
			w = w[:n-1] // setting, planned
		}
	case cut("ion", 7), cut("er", 7), cut("or", 7): // translation, reminder, calculator
	}
	cut("e", 3)
	return w
}

// set makes a set of stems.
func set(text string) map[string]bool {
	m := map[string]bool{}
	for _, w := range words(text) {
		m[w] = true
	}
	return m
}

var (
	// stopWords never say which tool is meant.
	stopWords = set(`a about after again all also am an and any are as ask at be because been before being but by
		can could did do does doing don down each else few for from had has have having he her here
		him his how i if in into is it its just know let like ll me more most my near need no not of off ok okay on once
		one only or other our out over own please re same she should so some such tell than thank thanks that the their
		them then there these they this those through to too under until up us use using very want was we were what when
		where which while who whom why will with would yes you your`)

	// weakWords are in the names of half of all tools. They tell create_task
	// from delete_task, but are not enough to pick either.
	weakWords = set(`add agent answer call change check close create current data delete description do fetch find
		function get give given handle help info information list look make name new number open perform provide question
		read remove request result retrieve return run save send set show specific specified start stop store string tool
		turn update user value work write`)

	// timeWords say when. They trail the value that is really meant, and are
	// themselves the value of a date.
	timeWords = set(`today tomorrow tonight yesterday now currently week weekend month morning afternoon evening night
		noon midnight next last monday tuesday wednesday thursday friday saturday sunday`)

	politeWords = set(`please thanks thank`)

	// trailers come after a value: "in Rome right now".
	trailers = set(`right this again too`)

	greetings = set(`hello hi hey goodbye bye`)
)

// significant reports whether a stem may say which tool is meant.
func significant(w string) bool {
	return len(w) > 1 && !stopWords[w] && !timeWords[w] && !greetings[w] && strings.ContainsFunc(w, unicode.IsLetter)
}

// clip is the beginning of a text, at most n bytes of it.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
