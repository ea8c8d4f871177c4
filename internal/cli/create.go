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
	"github.com/parley-run/parley/model"
)

// The files of a new agent, by style. Those in common belong to all styles.
// Their names have no leading dot, because embedding omits files with one.
//
//go:embed template
var templates embed.FS

// styleADK is the style of Google's package, and the default. styleGo is a program.
const (
	styleADK = "adk"
	styleGo  = "go"
)

func newCreate(env *Env) *cobra.Command {
	style := oneOf(styleADK, "adk-typescript", styleGo)
	var modelName string
	cmd := &cobra.Command{
		Use:   "create <name>",
		Short: "Create a directory with a new agent",
		Long: `Make a directory with a new agent in TypeScript or Go: one tool, and a model.

One in TypeScript runs as it is; installing its packages is only for editors and
type checks. One in Go is a program of its own.`,
		Example: `  parley create my_agent
  parley create agents/my_agent --style adk-typescript
  parley create my_agent --model claude-sonnet-4-5
  parley create my_agent --style go`,
		GroupID:           groupAgents,
		Args:              takes(1, "the name of the agent"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			name := filepath.Base(args[0])
			if err := checkName(name); err != nil {
				return err
			}
			if err := checkModel(modelName, style.value); err != nil {
				return err
			}
			dir := env.path(args[0])
			if err := makeAgent(dir, name, modelName, style.value); err != nil {
				return err
			}
			next := nextTypeScript
			if style.value == styleGo {
				next = nextGo
			}
			_, err := fmt.Fprint(env.Stdout, strings.NewReplacer("{{dir}}", args[0], "{{env}}", filepath.Join(args[0], ".env")).Replace(next))
			return err
		},
	}
	cmd.Flags().Var(style, "style", "package to import: @google/adk, or adk-typescript; or\na program in Go")
	cmd.Flags().StringVar(&modelName, "model", "gemini-2.5-flash", "`name` of the model, such as gpt-5 or\nollama/llama3.2")
	return cmd
}

// What a person can do with a new agent.
const (
	nextTypeScript = `Created {{dir}} with index.ts, package.json, tsconfig.json, .env and .gitignore.

Talk to it in the terminal, without a key:
  parley run {{dir}} --offline

With a model, put a key into {{env}}. To see what the agent does, in a browser:
  parley web {{dir}}
`
	nextGo = `Created {{dir}} with main.go, go.mod and .gitignore.

To see what the agent does, in a browser at http://127.0.0.1:8000:
  cd {{dir}}
  go get github.com/parley-run/parley@latest
  go mod tidy
  go run .

It needs no key. With GOOGLE_API_KEY in the environment, it uses Gemini.
`
)

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

var validModel = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}$`)

// checkModel checks that an agent of a style can use a model. Its name becomes a part of
// the code.
func checkModel(name, style string) error {
	if !validModel.MatchString(name) {
		return &usageError{fmt.Sprintf("--model: %q cannot be the name of a model", name)}
	}
	if _, err := model.New(name, model.Options{Getenv: func(string) string { return "" }}); err != nil {
		return &usageError{"--model: " + err.Error()}
	}
	if style == styleGo && !strings.HasPrefix(name, "gemini-") {
		return &usageError{fmt.Sprintf("--model: a new program in Go uses Gemini, not %q; create it without --model, and change newModel in main.go", name)}
	}
	return nil
}

// makeAgent writes the files of a new agent to a directory that is empty or does
// not exist.
func makeAgent(dir, name, modelName, style string) error {
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
	// Three names in a few files need no template language. A reachable text/template
	// would also keep every method of every type in the binary, because the linker
	// cannot know which of them a template calls.
	fill := strings.NewReplacer("{{agent}}", strings.ReplaceAll(name, "-", "_"), "{{package}}", strings.ToLower(name), "{{model}}", modelName)
	from := []string{path.Join("template", style)}
	if style != styleGo {
		from = append(from, "template/common")
	}
	for _, from := range from {
		files, err := templates.ReadDir(from)
		if err != nil {
			return err
		}
		for _, file := range files {
			text, err := templates.ReadFile(path.Join(from, file.Name()))
			if err != nil {
				return err
			}
			// A go.mod would make another module of the directory, which is not embedded.
			target, mode := strings.TrimSuffix(file.Name(), ".tmpl"), fs.FileMode(0o644)
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
