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

// underscores is the one spelling of a flag's name: --agent-dir is --agent_dir.
func underscores(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "-", "_")
	if name == "session_service_uri" { // what other servers of this kind call it
		name = "session_db_url"
	}
	return pflag.NormalizedName(name)
}

// needs is for a command that cannot do without an argument.
func needs(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(what + " must be given")
		}
		return nil
	}
}

// defaults gives the flags that were not on the command line the values of
// their environment variables.
func (e *Env) defaults(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		if err != nil || f.Changed || f.Name == "help" || f.Name == "version" {
			return
		}
		name := "PARLEY_" + strings.ToUpper(f.Name)
		value, _ := e.getenv(name)
		// Kubernetes sets PARLEY_PORT to such an address in every container
		// beside a service that is called parley. It is not meant for us.
		if value == "" || strings.HasPrefix(value, "tcp://") {
			return
		}
		if bad := f.Value.Set(value); bad != nil {
			err = fmt.Errorf("invalid value %q of the environment variable %s: %w", value, name, bad)
		}
	})
	return err
}

// suggest adds to an error about an unknown flag the one that was meant.
func suggest(err error, flags *pflag.FlagSet) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	name := string(underscores(nil, unknown.GetSpecifiedName()))
	best, least := "", 3 // more mistakes make it another word
	flags.VisitAll(func(f *pflag.Flag) {
		if n := distance(name, f.Name); n < least {
			best, least = f.Name, n
		}
	})
	if best == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean --%s?", err, best)
}

// distance is how many letters have to be put in, taken out or changed to make
// b of a.
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

// sectionKey is the annotation of a flag that says where help shows it.
const sectionKey = "section"

// section adds flags to a command, under a title of their own in its help.
func section(cmd *cobra.Command, title string, define func(flags *pflag.FlagSet)) {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	define(flags)
	flags.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{sectionKey: {title}} })
	flags.SortFlags = false
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if c, ok := f.Value.(*choice); ok { // the shell offers its words; this fails for unknown flags only
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(c.words, cobra.ShellCompDirectiveNoFileComp))
		}
	})
}

// choice is a flag that takes one of a few words. The first one is the default.
type choice struct {
	value string
	words []string
	kind  string // what help calls the value; the words if empty
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

// toggle is a flag that is on or off, and knows whether it was given: its default
// may depend on other flags.
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

// port is a flag that takes the number of a port.
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
