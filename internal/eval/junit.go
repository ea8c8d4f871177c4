package eval

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// pageOf returns the address of the page of a case's session in the developer UI of a
// server; empty if there is no server.
func pageOf(server *url.URL, app string, c *CaseResult) string {
	if server == nil || c.Session == "" {
		return ""
	}
	return server.JoinPath("ui", "apps", url.PathEscape(app), "users", url.PathEscape(c.User), "sessions", url.PathEscape(c.Session)).String()
}

// JUnit returns results as an XML document that CI systems read, with links to a server
// unless that is nil. Each case has its session, its user, and the page of the developer
// UI with the session and its trace.
//
// It does not use encoding/xml, which programs that link this package would have to link.
func JUnit(app string, results []*SetResult, server *url.URL) []byte {
	var suites strings.Builder
	tests, failures := 0, 0
	several := varied(results)
	for _, set := range results {
		name := set.Set
		if several {
			name += " (" + VariantName(set.variant()) + ")"
		}
		var cases strings.Builder
		failed := 0
		for _, c := range set.Cases {
			if c.Status != Passed {
				failed++
			}
			writeCase(&cases, name, c, pageOf(server, app, c))
		}
		fmt.Fprintf(&suites, "  <testsuite name=%s tests=\"%d\" failures=\"%d\">\n%s  </testsuite>\n", quoted(name), len(set.Cases), failed, &cases)
		tests, failures = tests+len(set.Cases), failures+failed
	}
	return fmt.Appendf(nil, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"%d\" failures=\"%d\">\n%s</testsuites>\n", tests, failures, &suites)
}

// writeCase writes a case of a suite. page is the one of its session, or empty.
func writeCase(out *strings.Builder, suite string, c *CaseResult, page string) {
	fmt.Fprintf(out, "    <testcase classname=%s name=%s time=\"%.3f\">\n", quoted(suite), quoted(c.ID), c.usage().Seconds)
	if c.Session != "" {
		out.WriteString("      <properties>\n")
		for _, property := range [][2]string{{"session", c.Session}, {"user", c.User}, {"trace", page}} {
			if property[0] != "trace" || page != "" {
				fmt.Fprintf(out, "        <property name=%s value=%s></property>\n", quoted(property[0]), quoted(property[1]))
			}
		}
		out.WriteString("      </properties>\n")
	}
	if c.Status != Passed {
		var details strings.Builder
		Details(&details, c)
		if page != "" { // some systems show only this
			details.WriteString("Trace: " + page + "\n")
		}
		fmt.Fprintf(out, "      <failure message=%s>%s</failure>\n", quoted(c.Why()), escaped(details.String()))
	}
	out.WriteString("    </testcase>\n")
}

// quoted returns the XML of an attribute with this value.
func quoted(value string) string { return `"` + escaped(value) + `"` }

// escaped returns the XML of a text. Characters that XML does not have are replaced.
func escaped(text string) string {
	return references.Replace(strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r != 0xfffe && r != 0xffff {
			return r
		}
		return utf8.RuneError
	}, text))
}

var references = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\t", "&#x9;", "\n", "&#xA;", "\r", "&#xD;")
