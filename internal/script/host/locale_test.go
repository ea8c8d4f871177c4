package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/script/engine"
)

const localeDates0 = `const D = new Date(Date.UTC(2026, 2, 5, 21, 4, 6, 123)), E = new Date(Date.UTC(2025, 10, 30, 9, 5, 0)), U = { timeZone: "UTC" };`

func TestLocaleNumbers(t *testing.T) {
	t.Parallel()
	checkLocales(t, localeNumbersCode, localeNumbers)
}

func TestLocaleDates(t *testing.T) {
	t.Parallel()
	checkLocales(t, localeDatesCode, localeDates)
}

// checkLocales runs all expressions in all locales, and compares them with a
// table of answers.
func checkLocales(t *testing.T, code []string, answers map[string]string) {
	t.Helper()
	s := newSandbox(t, Options{}, localeDates0, `const L = params; return JSON.stringify([`+"\n() => "+strings.Join(code, ",\n() => ")+`
		].map((f) => { try { return String(f()) } catch (e) { return String(e) } }));`)
	spaces := strings.NewReplacer("\u00a0", "⍽", "\u202f", "⎵", "\u2009", "⌴")
	for tag, text := range answers {
		var got []string
		if err := json.Unmarshal([]byte(s.must(t, tag)), &got); err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.ReplaceAll(text, "\n", ""), "¦")
		for i, w := range want {
			if g := spaces.Replace(got[i]); g != w {
				t.Errorf("%s: %s\n got: %s\nwant: %s", tag, code[i], g, w)
			}
		}
	}
}

// The expected values are those of Node.js 20.
func TestIntl(t *testing.T) {
	t.Parallel()
	checkSnippets(t, Options{}, "", []snippet{
		{"en-US number", `[(1234.5).toLocaleString(), (1234.5).toLocaleString("en-US", {style: "currency", currency: "USD"}), (0.5).toLocaleString("en", {style: "percent"}), new Intl.NumberFormat("en-US", {notation: "compact"}).format(12345)]`, `["1,234.5","$1,234.50","50%","12K"]`},
		{"en-US date", `[new Date(0).toLocaleString("en-US", {timeZone: "America/New_York"}).replace(/\u202f/g, " "), new Date(0).toLocaleDateString("en-US", {timeZone: "UTC", dateStyle: "full"}), new Date(NaN).toLocaleString("de")]`, `["12/31/1969, 7:00:00 PM","Thursday, January 1, 1970","Invalid Date"]`},
		{"without new", `[Intl.NumberFormat("de-DE").format(1.5), Intl.DateTimeFormat("de-DE", {timeZone: "UTC"}).format(0), Intl.NumberFormat("de") instanceof Intl.NumberFormat]`, `["1,5","1.1.1970",true]`},
		{"prototypes", `["formatToParts" in Intl.DateTimeFormat.prototype, "format" in Intl.NumberFormat.prototype, String(new Intl.NumberFormat()), Intl.DateTimeFormat.name]`, `[true,true,"[object Intl.NumberFormat]","DateTimeFormat"]`},
		{"bound format", `[[1.5, 2].map(new Intl.NumberFormat("fr-FR").format), [0, 864e5].map(new Intl.DateTimeFormat("it-IT", {timeZone: "UTC"}).format)]`, `[["1,5","2"],["01/01/1970","02/01/1970"]]`},
		{"resolved", `{ const r = new Intl.NumberFormat("de-DE", {style: "currency", currency: "eur"}).resolvedOptions(); const d = new Intl.DateTimeFormat("de", {timeZone: "Europe/Berlin"}).resolvedOptions(); return [r.locale, r.currency, r.maximumFractionDigits, d.locale, d.timeZone, d.calendar]; }`, `["de-DE","EUR",2,"de","Europe/Berlin","gregory"]`},
		{"supported", `[Intl.NumberFormat.supportedLocalesOf(["de-DE", "tlh", "fr"]), Intl.getCanonicalLocales("DE-de")]`, `[["de-DE","fr"],["de-DE"]]`},
		{"bad tag", `{ const out = []; for (const f of [() => (1).toLocaleString("x_y"), () => new Intl.DateTimeFormat("de-DE", {timeZone: "Nowhere/Land"}), () => new Intl.NumberFormat("de", {style: "currency"}), () => new Intl.Collator("de", {sensitivity: "x"})]) try { f(); out.push("ok") } catch (e) { out.push(e.name) } return out; }`, `["RangeError","RangeError","TypeError","RangeError"]`},
		{"several tags", `[(1.5).toLocaleString(["de-DE", "en-US"]), (1.5).toLocaleString([])]`, `["1,5","1.5"]`},
		{"noon and midnight", `[0, 12].map((h) => new Date(Date.UTC(2026, 0, 1, h, 30)).toLocaleTimeString("hi-IN", {timeZone: "UTC", hour: "numeric", minute: "numeric"}))`, `["12:30 am","12:30 pm"]`},
		{"time zone in words", `new Date(Date.UTC(2026, 6, 1)).toLocaleString("de-DE", {timeZone: "Asia/Kolkata", timeZoneName: "short"})`, `1.7.2026, 5:30:00 GMT+5:30`},
		{"time zone long offset", `new Intl.DateTimeFormat("fr-FR", {timeZone: "Asia/Kolkata", timeZoneName: "longOffset"}).formatToParts(0).find((p) => p.type === "timeZoneName").value`, `UTC+05:30`},
		{"summer time", `[new Date(Date.UTC(2026, 2, 29, 0, 59)), new Date(Date.UTC(2026, 2, 29, 1, 0))].map((d) => d.toLocaleTimeString("de-DE", {timeZone: "Europe/Berlin"}))`, `["01:59:00","03:00:00"]`},
		{"old dates", `new Date(Date.UTC(1969, 6, 20, 20, 17)).toLocaleString("sv-SE", {timeZone: "UTC"})`, `1969-07-20 20:17:00`},
		{"range of dates", `{ const f = new Intl.DateTimeFormat("de-DE", {timeZone: "UTC"}); return [f.formatRange(0, 0), typeof f.formatRange(0, 864e7)]; }`, `["1.1.1970","string"]`},
		{"plural", `[[0, 1, 2, 1.5].map((n) => new Intl.PluralRules("en-US").select(n)), [1, 2, 3, 4, 11, 12, 21, 22, 113].map((n) => new Intl.PluralRules("en", {type: "ordinal"}).select(n)), new Intl.PluralRules("en", {minimumFractionDigits: 1}).select(1)]`, `[["other","one","other","other"],["one","two","few","other","other","other","one","two","other"],"other"]`},
		{"list", `[new Intl.ListFormat("en").format(["a", "b", "c"]), new Intl.ListFormat("en").format(["a", "b"]), new Intl.ListFormat("en", {type: "disjunction"}).format(["a", "b", "c"]), new Intl.ListFormat("en").format([]), new Intl.ListFormat("en", {style: "short"}).format(["a", "b", "c"]), new Intl.ListFormat("en", {type: "unit"}).format(["a", "b"]), new Intl.ListFormat("en").formatToParts(["a", "b"])]`, `["a, b, and c","a and b","a, b, or c","","a, b, & c","a, b",[{"type":"element","value":"a"},{"type":"literal","value":" and "},{"type":"element","value":"b"}]]`},
		{"relative", `{ const f = new Intl.RelativeTimeFormat("en", {numeric: "auto"}), g = new Intl.RelativeTimeFormat("en"); return [f.format(-1, "day"), f.format(1, "day"), f.format(0, "day"), f.format(2, "days"), f.format(-1, "week"), f.format(1, "month"), f.format(0, "year"), f.format(0, "second"), f.format(-1, "hour"), g.format(-1, "day"), g.format(1.5, "hour"), g.format(-1000, "minute"), g.format(-0, "day")]; }`, `["yesterday","tomorrow","today","in 2 days","last week","next month","this year","now","1 hour ago","1 day ago","in 1.5 hours","1,000 minutes ago","0 days ago"]`},
		{"relative short", `{ const f = new Intl.RelativeTimeFormat("en", {style: "short"}); return [f.format(-1, "hour"), f.format(2, "month"), f.format(3, "day"), f.format(2, "quarter"), f.format(-5, "minute")]; }`, `["1 hr. ago","in 2 mo.","in 3 days","in 2 qtrs.","5 min. ago"]`},
		{"relative bad", `{ const out = []; for (const a of [[1, "eon"], [Infinity, "day"]]) try { new Intl.RelativeTimeFormat("en").format(...a); out.push("ok") } catch (e) { out.push(e.name) } return out; }`, `["RangeError","RangeError"]`},
		{"sort", `["b", "A", "a", "B", "é", "e", "z", "Z", "ä", "1", "10", "2", "_", " ", "-", "ß", "ss"].sort((a, b) => a.localeCompare(b)).join("|")`, ` |_|-|1|10|2|a|A|ä|b|B|e|é|ss|ß|z|Z`},
		{"sort words", `["résumé", "resume", "Resume", "résume", "cote", "côte", "coté", "côté", "apple", "Apple", "apple pie", "applepie"].sort(new Intl.Collator("en").compare).join("|")`, `apple|Apple|apple pie|applepie|cote|coté|côte|côté|resume|Resume|résume|résumé`},
		{"sort numeric", `["a10", "a2", "a1", "a01", "b1"].sort(new Intl.Collator(undefined, {numeric: true}).compare).join("|")`, `a1|a01|a2|a10|b1`},
		{"sensitivity", `[["a", "á"], ["a", "A"], ["a", "b"]].map(([a, b]) => ["base", "accent", "case", "variant"].map((sensitivity) => a.localeCompare(b, "en", {sensitivity})))`, `[[0,-1,0,-1],[0,0,-1,-1],[-1,-1,-1,-1]]`},
		{"compare", `["a".localeCompare("a"), "a".localeCompare("b"), "b".localeCompare("a"), "".localeCompare("a"), "a".localeCompare("A", undefined, {sensitivity: "base"}), "a\u0301".localeCompare("\u00e1")]`, `[0,-1,1,-1,0,0]`},
		{"segment", `[[...new Intl.Segmenter("en").segment("e\u0301👨‍👩‍👧🇩🇪a1")].map((s) => s.segment), [...new Intl.Segmenter("en", {granularity: "word"}).segment("Hi, you're 5!")].filter((s) => s.isWordLike).map((s) => s.segment)]`, `[["é","👨‍👩‍👧","🇩🇪","a","1"],["Hi","you're","5"]]`},
		{"locale object", `{ const l = new Intl.Locale("de-AT"); return [l.language, l.region, l.baseName, String(l), (1.5).toLocaleString(l)]; }`, `["de","AT","de-AT","de-AT","1,5"]`},
		{"bigint", `[12345678901234567890n.toLocaleString("de-DE"), 5n.toLocaleString()]`, `["12.345.678.901.234.567.890","5"]`},
		{"currency name", `typeof (5).toLocaleString("de-DE", {style: "currency", currency: "EUR", currencyDisplay: "name"})`, `string`},
		{"compact sizes", `[[999, 1500, 15000, 1.5e6, 2.55e9, -1234567, 0].map((n) => new Intl.NumberFormat("ja-JP", {notation: "compact"}).format(n)), [1500, 123456, 1e7, 1.5e12].map((n) => new Intl.NumberFormat("hi-IN", {notation: "compact"}).format(n)), [1500, 2.5e9].map((n) => new Intl.NumberFormat("es-ES", {notation: "compact"}).format(n)), new Intl.NumberFormat("de-DE", {notation: "compact", maximumFractionDigits: 2}).format(1234567), new Intl.NumberFormat("de-DE", {notation: "compact", style: "currency", currency: "EUR"}).format(1234567)]`, `[["999","1500","1.5万","150万","26億","-123万","0"],["1.5 हज़ार","1.2 लाख","1 क॰","15 ख॰"],["1,5 mil","2500 M"],"1,23 Mio.","1,2 Mio. €"]`},
	})
}

func TestIntlDiffers(t *testing.T) {
	t.Parallel()
	checkSnippets(t, Options{}, "", []snippet{
		// Node.js 20 counts from 0 to 11 with hour12, and to 24 without, in most languages; the standard has since been corrected.
		{"12 hours", `[0, 12].map((h) => new Date(Date.UTC(2026, 0, 1, h, 30)).toLocaleTimeString("de-DE", { timeZone: "UTC", hour: "numeric", minute: "numeric", hour12: true }))`, `["12:30 AM","12:30 PM"]`},
		{"24 hours", `new Date(Date.UTC(2026, 0, 1, 0, 30)).toLocaleTimeString("ko-KR", { timeZone: "UTC", hour: "numeric", minute: "numeric", hour12: false })`, "00:30"},
		{"near", `[(1.5).toLocaleString("fr-CA"), (1234.5).toLocaleString("de-LI"), new Date(0).toLocaleDateString("en-AU", { timeZone: "UTC" }), new Date(0).toLocaleDateString("zh-Hant-HK", { timeZone: "UTC" }), (1.5).toLocaleString("no"), (1234.5).toLocaleString("de-DE-u-nu-latn")]`, `["1,5","1'234.5","01/01/1970","1970/1/1","1,5","1.234,5"]`},
		{"unknown", `[(1234.5).toLocaleString("tlh"), new Date(0).toLocaleDateString("xx-YY", { timeZone: "UTC" })]`, `["1,234.5","1/1/1970"]`},
		{"not there", `new Intl.DisplayNames(["en"], { type: "region" })`, "throws Error: Intl.DisplayNames is not available in this runtime: write the names that you need into the agent"},
	})
}

func TestLocaleFallbacksAreLoggedOnce(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{}, "", `for (let i = 0; i < 3; i++) { (5).toLocaleString("tlh-KX"); (5).toLocaleString("fr-CA"); (5).toLocaleString("de"); new Intl.PluralRules("de").select(1) }`)
	s.must(t, nil)
	got := strings.TrimSpace(s.log.String())
	want := `level=WARN msg="a locale is not known, and another stands in for it" app=demo locale=tlh-KX instead=en-US
level=WARN msg="a locale is not known, and another stands in for it" app=demo locale=fr-CA instead=fr-FR
level=WARN msg=console app=demo text="Intl.PluralRules knows English only in this runtime, and does so for de"`
	if got != want {
		t.Errorf("\n got: %s\nwant: %s", got, want)
	}
}

// Users may choose the locale: unknown ones fill neither the log nor the engine.
func TestLocalesWithoutEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("it formats thousands of numbers in JavaScript")
	}
	t.Parallel()
	limits := engine.DefaultLimits()
	limits.Memory, limits.Turn = 12<<20, time.Minute
	s := newLimitedSandbox(t, Options{}, limits, "", "for (let i = 0; i < 5000; i++) (1.5).toLocaleString(`de-x-a${i}`); return (1.5).toLocaleString('de-x-a1');")
	if got := s.must(t, nil); got != "1,5" {
		t.Errorf("the number is %s", got)
	}
	var log bytes.Buffer
	h := New(Options{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(&log, nil))})
	for i := range 1000 {
		if _, err := h.locale(fmt.Sprintf("tlh-x-a%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "a locale is not known"); n != maxUnknown {
		t.Errorf("%d locales were named", n)
	}
}

// The two tables are about the same locales, and each has all that it must have.
func TestLocaleTables(t *testing.T) {
	t.Parallel()
	count := func(s string) int { return strings.Count(s, "|") + 1 }
	for tag, f := range localeFormats {
		n, ok := localeNames[tag]
		if !ok || count(n.Months) != 12 || count(n.MonthsShort) != 12 || count(n.Days) != 7 || count(n.DaysShort) != 7 || count(n.Periods) != 2 {
			t.Errorf("%s: names are missing", tag)
		}
		if count(f.Dates) != 30 || count(f.Times) != 11 || count(f.DateStyles) != 4 || count(f.TimeStyles) != 4 || count(f.Glue) != 4 || count(f.Currency) != 3 {
			t.Errorf("%s: patterns are missing", tag)
		}
	}
	for _, near := range nearLocales {
		if _, ok := localeFormats[near]; !ok && near != defaultLocale {
			t.Errorf("%s is not here", near)
		}
	}
}
