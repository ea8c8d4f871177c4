package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// report is what was found out about one server.
type report struct {
	name, version string
	cases         []caseResult
	load          loadResult
}

// The tables are between these lines of the page; the rest is written by hand.
const (
	begin = "<!-- Measured: make conformance/peers -->"
	end   = "<!-- End of what was measured -->"
)

// write puts the tables into the page.
func write(page string, reports []report) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s does not say where the tables go", page)
	}
	return os.WriteFile(page, []byte(before+begin+"\n\n"+tables(reports)+"\n"+end+after), 0o600)
}

func tables(reports []report) string {
	var b bytes.Buffer
	heads := make([]string, 0, len(reports))
	for _, r := range reports {
		heads = append(heads, r.name)
	}
	fmt.Fprintf(&b, "Measured on %s/%s with %s:", runtime.GOOS, runtime.GOARCH, runtime.Version())
	for i, r := range reports {
		fmt.Fprintf(&b, "%s %s %s", map[bool]string{true: "", false: ","}[i == 0], r.name, r.version)
	}
	b.WriteString(".\n\n## Conformance\n\n")
	row(&b, append([]string{"Cases"}, append(heads, "About")...)...)
	row(&b, append([]string{"---"}, append(slices.Repeat([]string{"---:"}, len(heads)), "---")...)...)
	for g := contract; g <= own; g++ {
		cells := []string{groupNames[g].title}
		for _, r := range reports {
			cells = append(cells, count(r, g))
		}
		row(&b, append(cells, groupNames[g].reason)...)
	}
	b.WriteString("\n## Cases that fail\n\n")
	failures(&b, reports)
	b.WriteString("\n## Load\n\n")
	fmt.Fprintf(&b, "Turns with one tool call through `/run`, in sessions of %d turns in memory, on %d connections.\n\n", turnsPerSession, connections)
	row(&b, append([]string{""}, heads...)...)
	row(&b, append([]string{"---"}, slices.Repeat([]string{"---:"}, len(heads))...)...)
	cpu, memory := []string{"CPU time of a turn"}, []string{"memory after the load"}
	for _, r := range reports {
		cpu = append(cpu, fmt.Sprintf("%.2f ms", float64(r.load.cpu)/float64(time.Millisecond)))
		memory = append(memory, fmt.Sprintf("%d MB", r.load.resident/1_000_000))
	}
	row(&b, cpu...)
	row(&b, memory...)
	return b.String()
}

func row(b *bytes.Buffer, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// count tells how many cases of a group a server passes.
func count(r report, g group) string {
	if g == own && r.name != "Parley" {
		return "not run"
	}
	number := map[outcome]int{}
	for _, c := range r.cases {
		if groupOf(c.name) == g {
			number[c.outcome]++
		}
	}
	text := fmt.Sprintf("%d of %d", number[passed], number[passed]+number[failed])
	if number[absent] > 0 {
		text += fmt.Sprintf(", %d absent", number[absent])
	}
	return text
}

// failures lists what fails where, in the order of the groups.
func failures(b *bytes.Buffer, reports []report) {
	heads := []string{"Case"}
	for _, r := range reports[1:] {
		heads = append(heads, r.name)
	}
	row(b, heads...)
	row(b, slices.Repeat([]string{"---"}, len(heads))...)
	for g := range own {
		for i, c := range reports[0].cases {
			if groupOf(c.name) != g {
				continue
			}
			cells, bad := []string{"`" + strings.TrimPrefix(c.name, "Test") + "`"}, false
			for _, r := range reports[1:] {
				cells = append(cells, cell(r.cases[i]))
				bad = bad || r.cases[i].outcome == failed
			}
			if bad {
				row(b, cells...)
			}
		}
	}
}

// cell is the outcome of a case in a few words.
func cell(c caseResult) string {
	switch {
	case c.outcome != failed:
		return string(c.outcome)
	case c.why == "":
		return "fails"
	}
	text := strings.NewReplacer("|", "¦", "`", "'", "\n", " ").Replace(c.why)
	if len(text) > 110 {
		text = strings.ToValidUTF8(text[:110], "") + "…"
	}
	return "`" + strings.TrimSpace(text) + "`"
}

// goVersion is that of a module which the fixture of a peer uses, or of this one.
func goVersion(module string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if module == "" {
			out, err := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD").Output()
			return "at " + strings.TrimSpace(string(out)), err
		}
		cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", module)
		cmd.Dir = filepath.Join(dir, "adk-go")
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
}

// npmVersion is that of adk-js.
func npmVersion(context.Context) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "adk-js", "package.json"))
	if err != nil {
		return "", err
	}
	var about struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(text, &about); err != nil {
		return "", err
	}
	version := about.Dependencies["@google/adk"]
	if version == "" {
		return "", errors.New("package.json does not name a version")
	}
	return "v" + version, nil
}
