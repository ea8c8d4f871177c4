package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// configName is the name of the file that is read without being named.
	configName = "parley.yaml"
	// maxConfig is the maximum size of the file, and maxBrackets of its nesting: the
	// parser recurses.
	maxConfig, maxBrackets = 64 << 10, 256
)

// configured are the commands that read the file. Those that deploy an agent do not: it
// is meant for the server that they deploy.
var configured = []string{"api_server", "web", "run", "eval", "replay", "sessions", "runs", "schedules", "triggers", "inbox", "webhooks", "tools", "doctor", "keys", "credentials"}

// configFile is a file with values of flags.
type configFile struct {
	path     string // empty for none
	settings []setting
}

// setting is the value of a flag in a file, or its values.
type setting struct {
	name   string
	line   int
	values []string
	list   bool
}

// configure sets the flags that are neither on the command line nor in the environment
// from the file of the command, if there is one.
func (e *Env) configure(cmd *cobra.Command, args []string) error {
	top := cmd
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	if !slices.Contains(configured, top.Name()) {
		return nil
	}
	path, text, err := e.readConfig(cmd, args)
	if err != nil || path == "" {
		return err
	}
	e.config.path = path
	if e.config.settings, err = parseConfig(text, e.getenv); err != nil {
		return fmt.Errorf("%s%w", path, err)
	}
	known := configKeys(cmd.Root())
	for _, s := range e.config.settings {
		if !slices.Contains(known, s.name) {
			if best := nearest(s.name, known); best != "" {
				return fmt.Errorf("%s:%d: there is no flag %s; did you mean %s?", path, s.line, s.name, best)
			}
			return fmt.Errorf("%s:%d: there is no flag %s", path, s.line, s.name)
		}
		f := cmd.Flags().Lookup(s.name) // nil for one of other commands
		if f == nil || f.Changed || e.variable(f.Name) != "" {
			continue
		}
		if err := s.set(f); err != nil {
			return fmt.Errorf("%s:%d: %s: %w", path, s.line, s.name, plain(err))
		}
	}
	return nil
}

// readConfig reads the file that --config names, or that of the directory of the agent,
// or that of the working directory. path is empty if there is none.
func (e *Env) readConfig(cmd *cobra.Command, args []string) (path string, text []byte, err error) {
	if named := cmd.Flags().Lookup("config").Value.String(); named != "" {
		path = e.path(named)
		text, err = readBounded(path)
		if err != nil {
			return "", nil, fmt.Errorf("--config: %w", err)
		}
		return path, text, nil
	}
	dir := ""
	switch f := cmd.Flags().Lookup("agent_dir"); {
	case len(args) > 0 && strings.Contains(cmd.Use, "agent_dir"):
		dir = args[0]
	case f != nil:
		dir = f.Value.String()
	}
	dir = e.path(dir)
	if info, err := os.Stat(dir); err == nil && !info.IsDir() { // the file of an agent
		dir = filepath.Dir(dir)
	}
	for _, dir := range []string{dir, e.Dir} {
		path = filepath.Join(dir, configName)
		switch text, err = readBounded(path); {
		case err == nil:
			return path, text, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", nil, err
		}
	}
	return "", nil, nil
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the user's own, and the user says which
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("%s is larger than %d KiB", path, maxConfig>>10)
	}
	return text, err
}

// parseConfig reads settings. Its errors begin with the line, as in ":3: …".
func parseConfig(text []byte, getenv func(string) (string, bool)) ([]setting, error) {
	if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > maxBrackets {
		return nil, fmt.Errorf(": it has more than %d brackets", maxBrackets)
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		// The rest shows the source, which may have secrets.
		line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
		return nil, fmt.Errorf(": it is not YAML: %s", line)
	}
	if len(file.Docs) > 1 {
		return nil, errors.New(": it must be one document, and has several")
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil || file.Docs[0].Body.Type() == ast.CommentType {
		return nil, nil
	}
	var members []*ast.MappingValueNode
	switch body := file.Docs[0].Body.(type) {
	case *ast.MappingNode:
		members = body.Values
	case *ast.MappingValueNode:
		members = append(members, body)
	default:
		return nil, errors.New(": it must have lines such as port: 8000")
	}
	var list []setting
	for _, member := range members {
		key := member.Key.GetToken()
		s := setting{name: string(underscores(nil, key.Value)), line: key.Position.Line}
		if slices.ContainsFunc(list, func(other setting) bool { return other.name == s.name }) {
			return nil, fmt.Errorf(":%d: %s is there twice", s.line, s.name)
		}
		if err := s.read(member.Value, getenv); err != nil {
			return nil, fmt.Errorf(":%d: %s: %w", s.line, s.name, err)
		}
		list = append(list, s)
	}
	return list, nil
}

// read reads the value of a setting, or the values of a list.
func (s *setting) read(node ast.Node, getenv func(string) (string, bool)) error {
	nodes := []ast.Node{node}
	if sequence, ok := node.(*ast.SequenceNode); ok {
		nodes, s.list = sequence.Values, true
	}
	for _, node := range nodes {
		value, err := scalar(node)
		if err == nil {
			value, err = expand(value, getenv)
		}
		if err != nil {
			return err
		}
		s.values = append(s.values, value)
	}
	return nil
}

// scalar returns a value as it would be on the command line.
func scalar(node ast.Node) (string, error) {
	switch node := node.(type) {
	case *ast.StringNode:
		return node.Value, nil
	case *ast.LiteralNode:
		return strings.TrimSuffix(node.Value.Value, "\n"), nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return node.GetToken().Value, nil // as it is written: 0o17 is an error of the flag
	case *ast.NullNode:
		return "", errors.New("it has no value")
	}
	return "", errors.New("it must be a value, or a list of values")
}

// reference is a reference to an environment variable.
var reference = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// expand replaces references to environment variables, so that secrets need not be in
// the file.
func expand(value string, getenv func(string) (string, bool)) (_ string, err error) {
	value = reference.ReplaceAllStringFunc(value, func(ref string) string {
		name := ref[len("${") : len(ref)-len("}")]
		text, ok := getenv(name)
		if !ok && err == nil {
			err = fmt.Errorf("the environment variable %s is not set", name)
		}
		return text
	})
	return value, err
}

func (s *setting) set(f *pflag.Flag) error {
	many, ok := f.Value.(pflag.SliceValue)
	switch {
	case !s.list:
		return f.Value.Set(s.values[0])
	case ok:
		return many.Replace(s.values)
	}
	return errors.New("it must be one value, not a list")
}

// String says where values come from, and for which flags.
func (c *configFile) String() string {
	names := make([]string, len(c.settings))
	for i, s := range c.settings {
		names[i] = s.name
	}
	return fmt.Sprintf("%s sets %s", c.path, cmp.Or(strings.Join(names, ", "), "nothing"))
}

// configKeys are the flags that a file may set: those of the commands that read it.
func configKeys(root *cobra.Command) (names []string) {
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		})
		for _, sub := range cmd.Commands() {
			add(sub)
		}
	}
	for _, cmd := range root.Commands() {
		if slices.Contains(configured, cmd.Name()) {
			add(cmd)
		}
	}
	return names
}
