package eval

import (
	"encoding/xml"
	"fmt"
	"net/url"
	"strings"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Set     string `xml:"classname,attr"`
	Name    string `xml:"name,attr"`
	Seconds string `xml:"time,attr"`
	// Properties are the session of the case, its user, and the page of the developer UI
	// with the session and its trace.
	Properties *junitProperties `xml:"properties"`
	Failure    *junitFailure    `xml:"failure"`
}

type junitProperties struct {
	List []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Details string `xml:",chardata"`
}

// pageOf returns the address of the page of a case's session in the developer UI of a
// server; empty if there is no server.
func pageOf(server *url.URL, app string, c *CaseResult) string {
	if server == nil || c.Session == "" {
		return ""
	}
	return server.JoinPath("ui", "apps", url.PathEscape(app), "users", url.PathEscape(c.User), "sessions", url.PathEscape(c.Session)).String()
}

// JUnit returns results as an XML document that CI systems read, with links to a server
// unless that is nil.
func JUnit(app string, results []*SetResult, server *url.URL) ([]byte, error) {
	all := junitSuites{}
	several := varied(results)
	for _, set := range results {
		suite := junitSuite{Name: set.Set, Tests: len(set.Cases)}
		if several {
			suite.Name += " (" + VariantName(set.variant()) + ")"
		}
		for _, c := range set.Cases {
			one := junitCase{Set: suite.Name, Name: c.ID, Seconds: fmt.Sprintf("%.3f", c.usage().Seconds)}
			if c.Session != "" {
				one.Properties = &junitProperties{[]junitProperty{{"session", c.Session}, {"user", c.User}}}
			}
			page := pageOf(server, app, c)
			if page != "" {
				one.Properties.List = append(one.Properties.List, junitProperty{"trace", page})
			}
			if c.Status != Passed {
				var details strings.Builder
				Details(&details, c)
				if page != "" { // some systems show only this
					details.WriteString("Trace: " + page + "\n")
				}
				one.Failure = &junitFailure{c.Why(), details.String()}
				suite.Failures++
			}
			suite.Cases = append(suite.Cases, one)
		}
		all.Tests, all.Failures = all.Tests+suite.Tests, all.Failures+suite.Failures
		all.Suites = append(all.Suites, suite)
	}
	doc, err := xml.MarshalIndent(all, "", "  ")
	return append([]byte(xml.Header), append(doc, '\n')...), err
}
