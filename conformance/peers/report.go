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
)

// report is what was found out about one server.
type report struct {
	name, version string
	cases         []caseResult
	load          []loadResult
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
	fmt.Fprintf(&b, "`bench target` sends its workloads on %d connections; sessions are in memory and have %d turns, and a turn is one call of a tool and a text. ", connections, turnsPerSession)
	b.WriteString("Each server runs alone, with its defaults and little logging; Node.js with `NODE_ENV=production`. The generator uses the same processors, so read the rates beside each other only.\n\n")
	row(&b, append([]string{""}, heads...)...)
	row(&b, append([]string{"---"}, slices.Repeat([]string{"---:"}, len(heads))...)...)
	for i, first := range reports[0].load {
		cpu, rate := []string{"`" + first.Workload + "`, CPU time of 1000"}, []string{"`" + first.Workload + "`, requests a second"}
		for _, r := range reports {
			cpu = append(cpu, fmt.Sprintf("%.2f s", r.load[i].CPU))
			rate = append(rate, fmt.Sprintf("%.0f", r.load[i].PerSecond))
		}
		row(&b, cpu...)
		row(&b, rate...)
	}
	memory := []string{"memory afterwards"}
	for _, r := range reports {
		memory = append(memory, fmt.Sprintf("%d MB", r.load[len(r.load)-1].Resident/1_000_000))
	}
	row(&b, memory...)
	return b.String()
}

func row(b *bytes.Buffer, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// count tells how many cases of a group a server passes.
func count(r report, g group) string {
	number := map[outcome]int{}
	for _, c := range r.cases {
		if groupOf(c.name) == g {
			number[c.outcome]++
		}
	}
	if number[left] > 0 {
		return string(left)
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
	for _, r := range reports {
		heads = append(heads, r.name)
	}
	row(b, heads...)
	row(b, slices.Repeat([]string{"---"}, len(heads))...)
	for g := contract; g <= own; g++ {
		for i, c := range reports[0].cases {
			if groupOf(c.name) != g {
				continue
			}
			cells, bad := []string{"`" + strings.TrimPrefix(c.name, "Test") + "`"}, false
			for _, r := range reports {
				cells = append(cells, cell(r.name, r.cases[i]))
				bad = bad || r.cases[i].outcome == failed
			}
			if bad {
				row(b, cells...)
			}
		}
	}
}

// cell is the outcome of a case in a few words.
func cell(server string, c caseResult) string {
	switch {
	case c.outcome != failed:
		return string(c.outcome)
	case causes[server][c.name] != "":
		return causes[server][c.name]
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
