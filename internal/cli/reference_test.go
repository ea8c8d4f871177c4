package cli

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestReference keeps docs/cli.md equal to what the commands say of themselves.
func TestReference(t *testing.T) {
	const page = "../../docs/cli.md"
	var b strings.Builder
	b.WriteString(`# Command line

<!-- Generated from the commands: go test ./internal/cli -run TestReference -update -->

Every flag may also be set by an environment variable: its name in capital letters after ` + "`PARLEY_`" + `, such as
` + "`PARLEY_SESSION_DB_URL` for `--session_db_url`" + `; or in a file, ` + "`parley.yaml` or what `--config` names" + `, see
[configuration](configuration.md#the-file). The command line has precedence. Dashes and underscores in the names of flags are
the same. The exit status is 0 for success, 1 for a failure, and 2 for a command line that is not understood.
`)
	describe(&b, newRoot(&Env{}))
	comparePage(t, page, b.String())
}

// comparePage compares a generated page with the one in docs, or writes it there.
func comparePage(t *testing.T, page, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if d := diff.Diff(string(have), text); d != "" {
		t.Errorf("run go test ./internal/cli -run %s -update (-want +got):\n%s", t.Name(), d)
	}
}

// describe writes the section of a command, and those of its subcommands.
func describe(b *strings.Builder, cmd *cobra.Command) {
	if cmd.HasParent() {
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n```text\n%s\n```\n", cmd.CommandPath(), unwrapped(cmp.Or(cmd.Long, cmd.Short)), cmd.UseLine())
		if cmd.HasExample() {
			var lines []string
			for line := range strings.Lines(cmd.Example) {
				lines = append(lines, strings.TrimSpace(line))
			}
			fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.Join(lines, "\n"))
		}
		for _, section := range sections(cmd) {
			fmt.Fprintf(b, "\n| %s | |\n|---|---|\n", section.Name())
			section.VisitAll(func(f *pflag.Flag) {
				if f.Hidden {
					return
				}
				kind, usage := pflag.UnquoteUsage(f)
				name := cellText("--" + f.Name + " " + kind)
				if f.Shorthand != "" {
					name = "-" + f.Shorthand + ", " + name
				}
				usage = cellText(usage)
				if d := f.DefValue; d != "" && d != "false" && d != "[]" && d != "0" && d != "0s" {
					usage += fmt.Sprintf(" (default `%s`)", d)
				}
				fmt.Fprintf(b, "| `%s` | %s |\n", name, usage)
			})
		}
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			describe(b, sub)
		}
	}
}

// unwrapped joins the lines of each paragraph; lines that are indented stay as they are.
func unwrapped(text string) string {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, p := range paragraphs {
		if strings.HasPrefix(p, " ") || strings.Contains(p, "\n  ") {
			paragraphs[i] = "```text\n" + p + "\n```"
			continue
		}
		paragraphs[i] = strings.ReplaceAll(p, "\n", " ")
	}
	return strings.Join(paragraphs, "\n\n")
}
