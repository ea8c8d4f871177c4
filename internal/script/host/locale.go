package host

import (
	"strings"
	"sync"
)

// localeName holds names, separated by |. Where a name takes another form when
// it stands alone, as "ноябрь" and "15 ноября", the field …Alone has it.
type localeName struct {
	Months           string `json:"months"`
	MonthsAlone      string `json:"monthsAlone,omitempty"`
	MonthsShort      string `json:"monthsShort"`
	MonthsShortAlone string `json:"monthsShortAlone,omitempty"`
	MonthsNarrow     string `json:"monthsNarrow"`
	Days             string `json:"days"`
	DaysAlone        string `json:"daysAlone,omitempty"`
	DaysShort        string `json:"daysShort"`
	DaysShortAlone   string `json:"daysShortAlone,omitempty"`
	DaysNarrow       string `json:"daysNarrow"`
	Periods          string `json:"periods"`
	PeriodsByHour    string `json:"periodsByHour,omitempty"`
}

// localeFormat holds patterns, separated by |. Those of dates are written as
// in CLDR: letters are fields, and what is between ' is not.
type localeFormat struct {
	Numbers    string `json:"numbers"`    // decimal sign, group, minus, percent, what is not a number, group in amounts of money
	GroupFrom5 bool   `json:"groupFrom5"` // 1234 has no group, 12 345 has
	Lakhs      bool   `json:"lakhs"`      // 12,34,567
	Currency   string `json:"currency"`   // an amount, a negative one, a negative one for accountants
	Symbols    string `json:"symbols"`    // code, symbol and narrow symbol, where they are not those of en-US
	Compact    string `json:"compact"`    // from which power of ten on, in units of which, and what stands for it
	Dates      string `json:"dates"`      // by their fields, in the order of js/prelude/intl/pattern.js
	Odd        string `json:"odd"`        // dates that two digits make different
	DateStyles string `json:"dateStyles"` // full, long, medium, short
	TimeStyles string `json:"timeStyles"`
	Times      string `json:"times"` // by their fields, for 24 hours and for 12
	Glue       string `json:"glue"`  // a date and a time together, by the date's length
	Hour12     bool   `json:"hour12"`
	GMT        string `json:"gmt"` // how a distance from Greenwich is written
}

type localeData struct {
	Tag string `json:"tag"`
	localeName
	localeFormat
}

// defaultLocale is the one that the Intl of the engine implements.
const defaultLocale = "en-US"

// nearLocales say which locale stands for a language, and for places that do
// not write as it is written elsewhere.
var nearLocales = map[string]string{
	"en": defaultLocale, "en-au": "en-GB", "en-ie": "en-GB", "en-in": "en-GB", "en-nz": "en-GB", "en-za": "en-GB",
	"de": "de-DE", "de-li": "de-CH", "fr": "fr-FR", "es": "es-ES", "es-419": "es-MX", "es-us": "es-MX", "it": "it-IT",
	"pt": "pt-BR", "nl": "nl-NL", "sv": "sv-SE", "da": "da-DK", "nb": "nb-NO", "no": "nb-NO", "nn": "nb-NO", "fi": "fi-FI",
	"pl": "pl-PL", "cs": "cs-CZ", "tr": "tr-TR", "ru": "ru-RU", "uk": "uk-UA", "ja": "ja-JP", "ko": "ko-KR", "hi": "hi-IN",
	"zh": "zh-CN", "zh-hans": "zh-CN", "zh-sg": "zh-CN", "zh-hant": "zh-TW", "zh-hk": "zh-TW", "zh-mo": "zh-TW",
}

// nearest finds the locale that is closest to a tag. It reports whether that is
// the locale of the tag, and not a substitute.
func nearest(tag string) (string, bool) {
	// What follows a single letter, as -u-, says how and not where.
	parts := strings.Split(strings.ToLower(tag), "-")
	for i, p := range parts {
		if len(p) == 1 {
			parts = parts[:i]
			break
		}
	}
	asked := strings.Join(parts, "-")
	if strings.EqualFold(asked, defaultLocale) {
		return defaultLocale, true
	}
	for known := range localeFormats {
		if strings.EqualFold(asked, known) {
			return known, true
		}
	}
	for n := len(parts); n > 0; n-- {
		if near, ok := nearLocales[strings.Join(parts[:n], "-")]; ok {
			return near, n == len(parts) && n == 1
		}
	}
	return defaultLocale, false
}

// unknownLocales are those that the code has used and that have no data.
type unknownLocales struct {
	mu    sync.Mutex
	known map[string]bool
}

// maxUnknown is how many of them are logged: their names may come from users, who
// can make them up.
const maxUnknown = 100

func (s *unknownLocales) isNew(tag string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[tag] || len(s.known) >= maxUnknown {
		return false
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[tag] = true
	return true
}

// locale returns the data of the locale that is closest to a tag; nil means that
// en-US, which the engine has, is to be used. It logs each substitute once.
func (h *Host) locale(tag string) (any, error) {
	if len(tag) > 100 {
		return nil, errTooBig
	}
	near, exact := nearest(tag)
	if !exact {
		if h.unknown.isNew(tag) {
			h.Log.Warn("a locale is not known, and another stands in for it", "app", h.App, "locale", tag, "instead", near)
		}
	}
	format, ok := localeFormats[near]
	if !ok {
		return nil, nil
	}
	return localeData{Tag: near, localeName: localeNames[near], localeFormat: format}, nil
}
