package cli

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parley-run/parley/event"
)

// The files of a new agent, by style. Those in common belong to all styles.
// Their names have no leading dot, because embedding omits files with one.
//
//go:embed template
var templates embed.FS

// styleADK is the style of Google's package, and the default.
const styleADK = "adk"

func newCreate(env *Env) *cobra.Command {
	style := oneOf(styleADK, "adk-typescript")
	cmd := &cobra.Command{
		Use:   "create <name>",
		Short: "Create a directory with a new agent",
		Long: `Make a directory with a new agent in TypeScript: one tool, and a model.

It runs as it is. Installing its packages is only for editors and type checks.`,
		Example: `  parley create my_agent
  parley create agents/my_agent --style adk-typescript`,
		GroupID:           groupAgents,
		Args:              cobra.MatchAll(needs("the name of the agent"), cobra.MaximumNArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			name := filepath.Base(args[0])
			if err := checkName(name); err != nil {
				return err
			}
			dir := env.path(args[0])
			if err := makeAgent(dir, name, style.value); err != nil {
				return err
			}
			_, err := fmt.Fprintf(env.Stdout, `Created %[1]s with index.ts, package.json, tsconfig.json, .env and .gitignore.

Talk to it, without a key:
  parley run %[1]s --offline

With a model, after you have put a key into %[2]s:
  parley run %[1]s
  parley api_server %[1]s
`, args[0], filepath.Join(args[0], ".env"))
			return err
		},
	}
	cmd.Flags().Var(style, "style", "package to import: @google/adk, or adk-typescript")
	return cmd
}

var validName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// checkName checks that a name is valid for a directory, an application, a package
// and, except for dashes, an agent.
func checkName(name string) error {
	if !validName.MatchString(name) {
		return &usageError{fmt.Sprintf("%q cannot be the name of an agent: use letters, digits, _ and -, start with a letter, and at most 64", name)}
	}
	if name == event.User || name == "node_modules" {
		return &usageError{fmt.Sprintf("%q cannot be the name of an agent, because it is reserved", name)}
	}
	return nil
}

// makeAgent writes the files of a new agent to a directory that is empty or does
// not exist.
func makeAgent(dir, name, style string) error {
	there, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(there) > 0 {
		return fmt.Errorf("%s exists and is not empty", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // source code, which a container has to read
		return err
	}
	// Two names in a few files need no template language. A reachable text/template
	// would also keep every method of every type in the binary, because the linker
	// cannot know which of them a template calls.
	fill := strings.NewReplacer("{{agent}}", strings.ReplaceAll(name, "-", "_"), "{{package}}", strings.ToLower(name))
	for _, from := range []string{path.Join("template", style), "template/common"} {
		files, err := templates.ReadDir(from)
		if err != nil {
			return err
		}
		for _, file := range files {
			text, err := templates.ReadFile(path.Join(from, file.Name()))
			if err != nil {
				return err
			}
			target, mode := file.Name(), fs.FileMode(0o644)
			if !strings.Contains(target, ".") {
				target = "." + target
			}
			if target == ".env" {
				mode = 0o600 // the file is for keys
			}
			if err := os.WriteFile(filepath.Join(dir, target), []byte(fill.Replace(string(text))), mode); err != nil {
				return err
			}
		}
	}
	return nil
}
