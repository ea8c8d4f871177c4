package eval_test

import (
	"encoding/xml"
	"net/url"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/eval"
)

// A parser of XML finds what was written, whatever the texts contain.
func TestJUnit(t *testing.T) {
	t.Parallel()
	const odd = "a \"b\" 'c' <d> & ]]> e\n\tf\r\x1b\xff\ufffe\ud7ff𝄞"
	want := strings.NewReplacer("\x1b", "\ufffd", "\xff", "\ufffd", "\ufffe", "\ufffd").Replace(odd)
	var doc struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Tests int    `xml:"tests,attr"`
			Cases []struct {
				Suite      string `xml:"classname,attr"`
				Name       string `xml:"name,attr"`
				Seconds    string `xml:"time,attr"`
				Properties []struct {
					Name  string `xml:"name,attr"`
					Value string `xml:"value,attr"`
				} `xml:"properties>property"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Details string `xml:",chardata"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	text := eval.JUnit("app", []*eval.SetResult{{Set: odd, Cases: []*eval.CaseResult{
		{ID: odd, Status: eval.Failed, Error: odd, Session: odd, User: odd}, {ID: "good", Status: eval.Passed},
	}}}, &url.URL{Scheme: "http", Host: "example.com"})
	if err := xml.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if doc.Tests != 2 || doc.Failures != 1 || len(doc.Suites) != 1 || doc.Suites[0].Name != want || len(doc.Suites[0].Cases) != 2 {
		t.Fatalf("%+v", doc)
	}
	bad, good := doc.Suites[0].Cases[0], doc.Suites[0].Cases[1]
	if bad.Suite != want || bad.Name != want || bad.Failure == nil || bad.Failure.Message != want || !strings.Contains(bad.Failure.Details, want) {
		t.Errorf("a case that failed: %+v, %+v", bad, bad.Failure)
	}
	if len(bad.Properties) != 3 || bad.Properties[0].Value != want || bad.Properties[1].Value != want || !strings.HasPrefix(bad.Properties[2].Value, "http://example.com/ui/apps/app/users/") {
		t.Errorf("its properties: %+v", bad.Properties)
	}
	if good.Name != "good" || good.Seconds != "0.000" || good.Failure != nil || len(good.Properties) != 0 {
		t.Errorf("a case that passed: %+v", good)
	}
}
