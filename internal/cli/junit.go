package cli

import (
	"encoding/xml"
	"fmt"
	"net/url"

	"github.com/parley-run/parley"
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
func pageOf(server *url.URL, app string, c *parley.EvaluatedCase) string {
	if server == nil || c.Session == "" {
		return ""
	}
	return server.JoinPath("ui", "apps", url.PathEscape(app), "users", url.PathEscape(c.User), "sessions", url.PathEscape(c.Session)).String()
}

// junitDocument returns the results as an XML document that CI systems read, with links
// to a server unless that is nil.
func junitDocument(result *parley.EvaluationResult, server *url.URL) ([]byte, error) {
	var all junitSuites
	for _, set := range result.Sets {
		suite := junitSuite{Name: setName(result, &set), Tests: len(set.Cases)}
		for _, c := range set.Cases {
			one := junitCase{Set: suite.Name, Name: c.ID, Seconds: fmt.Sprintf("%.3f", c.Duration.Seconds())}
			if c.Session != "" {
				one.Properties = &junitProperties{[]junitProperty{{"session", c.Session}, {"user", c.User}}}
			}
			page := pageOf(server, result.App, &c)
			if page != "" {
				one.Properties.List = append(one.Properties.List, junitProperty{"trace", page})
			}
			if !c.Passed {
				one.Failure = &junitFailure{c.Reason, c.Details}
				if page != "" { // some systems show only this
					one.Failure.Details += "Trace: " + page + "\n"
				}
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
