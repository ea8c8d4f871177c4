package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// underscores normalizes the name of a flag: --agent-dir is --agent_dir.
func underscores(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "-", "_")
	switch name { // the names that similar servers use
	case "session_service_uri":
		name = "session_db_url"
	case "reload":
		name = "reload_agents"
	}
	return pflag.NormalizedName(name)
}

// needs requires an argument of a command, and allows any number of others.
func needs(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(what + " must be given")
		}
		return nil
	}
}

// takes allows at most so many arguments, of which the first ones are required: those
// that are described.
func takes(most int, required ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(required):
			return errors.New(required[len(args)] + " must be given")
		case len(args) <= most:
			return nil
		case cmd.HasSubCommands():
			return unknownCommand(cmd, args[0])
		}
		return fmt.Errorf("the argument %q is one too many", args[most])
	}
}

// unknownCommand is the error for a word that is not a command below cmd.
func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	err := fmt.Errorf("there is no command %q of %s", word, cmd.CommandPath())
	if best := nearest(word, names); best != "" {
		return fmt.Errorf("%w; did you mean %s?", err, best)
	}
	return err
}

// defaults sets the flags that were not on the command line from their environment
// variables.
func (e *Env) defaults(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		if err != nil || f.Changed || f.Name == "help" || f.Name == "version" {
			return
		}
		value := e.variable(f.Name)
		if value == "" {
			return
		}
		if bad := f.Value.Set(value); bad != nil {
			err = fmt.Errorf("invalid value %q of the environment variable %s: %w", value, variableOf(f.Name), plain(bad))
		}
	})
	return err
}

// variableOf is the name of the environment variable of a flag.
func variableOf(flag string) string { return "PARLEY_" + strings.ToUpper(flag) }

// variable returns the value of the environment variable of a flag, or "".
func (e *Env) variable(flag string) string {
	value, _ := e.getenv(variableOf(flag))
	// Kubernetes sets PARLEY_PORT to such a URL in every container next to a
	// service that is called parley. It is not meant for this program.
	if strings.HasPrefix(value, "tcp://") {
		return ""
	}
	return value
}

// plain says what a flag accepts, in place of an error of package strconv, which names a
// function of Go.
func plain(err error) error {
	parse, ok := errors.AsType[*strconv.NumError](err)
	if !ok {
		return err
	}
	var want string
	switch negative := strings.HasPrefix(parse.Num, "-"); {
	case parse.Func == "ParseBool":
		want = "must be true or false"
	case errors.Is(parse, strconv.ErrRange) && negative:
		want = "is too small"
	case errors.Is(parse, strconv.ErrRange):
		want = "is too large"
	case parse.Func == "ParseInt":
		want = "must be a whole number"
	case parse.Func == "ParseUint":
		want = "must be a whole number, 0 or more"
	default:
		want = "must be a number"
	}
	return errors.New(strings.Replace(err.Error(), parse.Error(), want, 1))
}

// suggest adds the most similar flag to an error about an unknown one.
func suggest(err error, flags *pflag.FlagSet) error {
	err = plain(err)
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if best := nearest(string(underscores(nil, unknown.GetSpecifiedName())), names); best != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, best)
	}
	return err
}

// nearest returns the word that differs least from another one, or "" if all of them
// are different words.
func nearest(word string, words []string) string {
	best, least := "", 3
	for _, one := range words {
		if n := distance(word, one); n < least {
			best, least = one, n
		}
	}
	return best
}

// distance returns the number of insertions, deletions and changes of letters that
// turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// sectionKey is the annotation of a flag with its section in the help.
const sectionKey = "section"

// section adds flags to a command, in a section of its help.
func section(cmd *cobra.Command, title string, define func(flags *pflag.FlagSet)) {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	define(flags)
	flags.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{sectionKey: {title}} })
	flags.SortFlags = false
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if c, ok := f.Value.(*choice); ok { // for completion; it fails for unknown flags only
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(c.words, cobra.ShellCompDirectiveNoFileComp))
		}
	})
}

// choice is a flag with a few allowed words. The first one is the default.
type choice struct {
	value string
	words []string
	kind  string // the name of the value in the help; if empty, the words
}

func oneOf(words ...string) *choice { return &choice{value: words[0], words: words} }

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return cmp.Or(c.kind, strings.Join(c.words, "|")) }

func (c *choice) Set(value string) error {
	if !slices.Contains(c.words, value) {
		return fmt.Errorf("must be one of %s", strings.Join(c.words, ", "))
	}
	c.value = value
	return nil
}

// toggle is a boolean flag that knows whether it was given, because its default may
// depend on other flags.
type toggle struct{ on, given bool }

func (t *toggle) String() string { return strconv.FormatBool(t.on) }
func (t *toggle) Type() string   { return "bool" }

func (t *toggle) Set(value string) error {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return errors.New("must be true or false")
	}
	t.on, t.given = on, true
	return nil
}

// port is a flag for a port number.
type port int

func (p *port) String() string { return strconv.Itoa(int(*p)) }
func (p *port) Type() string   { return "port" }

func (p *port) Set(value string) error {
	n, err := strconv.ParseUint(value, 10, 16)
	if err != nil {
		return errors.New("must be a number from 0 to 65535")
	}
	*p = port(n)
	return nil
}
