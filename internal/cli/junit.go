package cli

import (
	"encoding/xml"
	"fmt"

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
	Set     string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Seconds string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Details string `xml:",chardata"`
}

// junitDocument returns the results as an XML document that CI systems read.
func junitDocument(result *parley.EvaluationResult) ([]byte, error) {
	var all junitSuites
	for _, set := range result.Sets {
		suite := junitSuite{Name: setName(result, &set), Tests: len(set.Cases)}
		for _, c := range set.Cases {
			one := junitCase{Set: suite.Name, Name: c.ID, Seconds: fmt.Sprintf("%.3f", c.Duration.Seconds())}
			if !c.Passed {
				one.Failure = &junitFailure{c.Reason, c.Details}
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
