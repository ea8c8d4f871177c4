package offline

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// number is one that the user wrote in digits, or a small one in words.
type number struct {
	text  string // as JSON
	value float64
	token int
}

func (n number) whole() bool { return !strings.Contains(n.text, ".") }

var (
	numeral   = regexp.MustCompile(`\d+(\.\d+)?`)
	thousands = regexp.MustCompile(`^[-+]?\d{1,3}(,\d{3})+(\.\d+)?$`)
	moment    = regexp.MustCompile(`^\d{1,4}([-/.:]\d{1,2}){1,2}([ap]m)?$|^\d{1,2}[ap]m$`)
)

// counts are the numbers that are usually written in words. One is not among them:
// it is a pronoun as often.
var counts = map[string]float64{
	"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}

// numbersIn finds the numbers in a token: 5, -1.5, 1,000, 20-sided, 2+2, three. Dates
// and times are not numbers.
func numbersIn(text string, at int) []number {
	if n, ok := counts[strings.ToLower(text)]; ok {
		return []number{{strconv.FormatFloat(n, 'f', -1, 64), n, at}}
	}
	if thousands.MatchString(text) {
		text = strings.ReplaceAll(text, ",", "")
	} else if moment.MatchString(text) && strings.ContainsAny(text, "-/:m") {
		return nil
	}
	var list []number
	for _, m := range numeral.FindAllStringIndex(text, -1) {
		digits := strings.TrimLeft(text[m[0]:m[1]], "0") // JSON has no 007
		if digits == "" || digits[0] == '.' {
			digits = "0" + digits
		}
		if m[0] == 1 && text[0] == '-' {
			digits = "-" + digits
		}
		if value, err := strconv.ParseFloat(digits, 64); err == nil {
			list = append(list, number{digits, value, at})
		}
	}
	return list
}

// mention is a value out of a list that was found in the text.
type mention struct {
	value json.RawMessage
	span
}

// mentions finds values inside a span, in the order of the text. Where one is
// the beginning of another, the longer counts.
func (u *utterance) mentions(values []json.RawMessage, within span) []mention {
	spelled := make([][]string, len(values))
	for i, v := range values {
		spelled[i] = words(plain(v))
	}
	var found []mention
	for at := 0; at < len(u.words); {
		best, length := -1, 0
		for i, w := range spelled {
			if len(w) > length && u.spells(at, w) {
				best, length = i, len(w)
			}
		}
		if best < 0 {
			at++
			continue
		}
		s := span{u.words[at].token, u.words[at+length-1].token + 1}
		if s.from >= within.from && s.to <= within.to {
			found = append(found, mention{values[best], s})
		}
		at += length
	}
	return found
}

func (u *utterance) spells(at int, stems []string) bool {
	return at+len(stems) <= len(u.words) &&
		slices.EqualFunc(u.words[at:at+len(stems)], stems, func(w word, s string) bool { return w.stem == s })
}

// flags are the words for yes and no.
var flags = map[string]bool{
	"yes": true, "true": true, "enable": true, "enabled": true, "on": true,
	"no": false, "false": false, "disable": false, "disabled": false, "off": false,
}

var switches = set(`turn switch is be put power`)

// flag finds a yes or a no, and its token. "On" is one only where it is no
// preposition: after a verb such as turn, or at the end.
func (u *utterance) flag(skip []bool) (value bool, at int, ok bool) {
	for i, t := range u.tokens {
		value, ok := flags[t.low]
		if !ok || t.quoted || i < len(skip) && skip[i] {
			continue
		}
		switched := i > 0 && u.tokens[i-1].in(switches)
		last := t.stop || t.comma || i+1 == len(u.tokens) || u.tokens[i+1].in(politeWords)
		if t.low != "on" || switched || last {
			return value, i, true
		}
	}
	return false, 0, false
}
