package server_test

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

var update = flag.Bool("update", false, "rewrite the responses in testdata")

// TestTranscripts plays the conversations in testdata, each against its own server, and compares every byte of the
// responses. A file is in the txtar format: a description, then requests and responses in turn.
//
// Values that differ between runs are replaced by names: <run 1> is the first run id that appears, and so on. A later
// request may use a name.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			prose, sections := parse(string(b))
			got := play(t, prose, sections)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(b), got); diff != "" {
				t.Errorf("(-want +got; -update accepts it):\n%s", diff)
			}
		})
	}
}

// play sends the requests and returns the file with the actual responses.
func play(t *testing.T, prose string, sections []section) string {
	t.Helper()
	found := weather()
	found["small"] = small(t)
	srv := serve(t, found)
	var out strings.Builder
	out.WriteString(prose)
	var n names
	for _, s := range sections {
		if s.name != "request" {
			continue // it is written again
		}
		head, body, _ := strings.Cut(s.text, "\n\n")
		lines := strings.Split(strings.TrimSpace(head), "\n")
		method, path, _ := strings.Cut(n.real(lines[0]), " ")
		headers := strings.Split(n.real(strings.Join(lines[1:], "\n")), "\n")
		rec := do(t, srv, method, path, n.real(strings.TrimSuffix(body, "\n")), headers...)
		fmt.Fprintf(&out, "-- request --\n%s-- response --\n%s", s.text, n.named(render(rec)))
	}
	return out.String()
}

// small is an application with a short description.
func small(t *testing.T) *agent.Agent {
	t.Helper()
	type in struct {
		City string `json:"city" jsonschema:"the name of the city"`
	}
	clock := tool.Must(tool.New(tool.Declaration{Name: "get_time", Description: "The time in a city."},
		func(*tool.Context, in) (string, error) { return "12:00", nil }))
	helper, err := agent.NewLLM(agent.LLMConfig{Name: "helper", Description: "Helps.", Tools: []tool.Tool{clock}})
	if err != nil {
		t.Fatal(err)
	}
	root, err := agent.NewLLM(agent.LLMConfig{
		Name: "root", Description: "Delegates.", Instruction: "Ask the helper.", Model: scripted.New(), SubAgents: []*agent.Agent{helper},
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// pinned are the headers that transcripts show.
var pinned = []string{
	"Allow", "Cache-Control", "Content-Type", "Idempotent-Replayed", "Link", "Location", "Preference-Applied", "Retry-After", "Vary",
	"X-Accel-Buffering", "X-Parley-Run",
}

func render(rec *httptest.ResponseRecorder) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s\n", rec.Code, http.StatusText(rec.Code))
	for _, name := range slices.Sorted(maps.Keys(rec.Header())) {
		if slices.Contains(pinned, name) {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(rec.Header()[name], ", "))
		}
	}
	body := rec.Body.String()
	if !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	return b.String() + "\n" + body
}

// names replaces values that differ between runs.
type names struct {
	replace []string // value and name, alternating
	count   map[string]int
}

var (
	identifiers = []struct {
		kind    string
		pattern *regexp.Regexp
	}{
		{"run", regexp.MustCompile(`\b(e-[a-z2-7]{24})\b`)},
		{"patch", regexp.MustCompile(`\b(p-[a-z2-7]{24})\b`)},
		{"call", regexp.MustCompile(`\b(parley-[a-z2-7]{24})\b`)},
		{"event", regexp.MustCompile(`"id":"([a-z2-7]{16})"`)},
		{"session", regexp.MustCompile(`"id":"([a-z2-7]{26})"`)},
	}
	times    = regexp.MustCompile(`"(timestamp|lastUpdateTime|createTime|endTime)":[0-9.]+`)
	versions = regexp.MustCompile(`"language_version":"[^"]+"`)
)

func (n *names) named(text string) string {
	if n.count == nil {
		n.count = map[string]int{}
	}
	for _, id := range identifiers {
		for _, m := range id.pattern.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(n.replace, m[1]) {
				n.count[id.kind]++
				n.replace = append(n.replace, m[1], fmt.Sprintf("<%s %d>", id.kind, n.count[id.kind]))
			}
		}
	}
	text = strings.NewReplacer(n.replace...).Replace(text)
	text = times.ReplaceAllString(text, `"$1":<time>`)
	return versions.ReplaceAllString(text, `"language_version":<version>`)
}

func (n *names) real(text string) string {
	reversed := slices.Clone(n.replace)
	slices.Reverse(reversed)
	return strings.NewReplacer(reversed...).Replace(text)
}

// section is one file of a txtar archive.
type section struct{ name, text string }

// parse reads a txtar archive.
func parse(archive string) (prose string, sections []section) {
	for line := range strings.Lines(archive) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if name, end := strings.CutSuffix(name, " --"); ok && end {
			sections = append(sections, section{name: name})
		} else if len(sections) == 0 {
			prose += line
		} else {
			sections[len(sections)-1].text += line
		}
	}
	return prose, sections
}
