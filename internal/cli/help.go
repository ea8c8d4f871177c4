package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups of commands in the help of the root.
const (
	groupAgents = "agents"
	groupMore   = "more"
)

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:                   "help [command]",
		Short:                 "Show the help of a command",
		GroupID:               groupMore,
		DisableFlagsInUseLine: true,
		Args:                  takes(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			about, _, err := cmd.Root().Find(args)
			if err != nil {
				return &usageError{err.Error()}
			}
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, sub := range cmd.Root().Commands() {
				if len(args) == 0 && sub.IsAvailableCommand() {
					names = append(names, sub.Name()+"\t"+sub.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// writeHelp writes what a command does and its usage.
func writeHelp(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, "%s\n\nUsage:\n", strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s <command> [flags]\n", cmd.CommandPath())
	} else {
		fmt.Fprintf(w, "  %s\n", cmd.UseLine())
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, group := range cmd.Groups() {
		fmt.Fprintf(w, "\n%s:\n", group.Title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(w, "  %-*s   %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	for _, one := range sections(cmd) {
		fmt.Fprintf(w, "\n%s:\n%s", one.Name(), one.FlagUsages())
	}
}

// sections groups the flags of a command by their titles, those without one last.
// It omits --help and --config, which the help of the root describes for all commands.
func sections(cmd *cobra.Command) []*pflag.FlagSet {
	var list []*pflag.FlagSet
	byTitle := map[string]*pflag.FlagSet{}
	rest := pflag.NewFlagSet("Flags", pflag.ContinueOnError)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		title := f.Annotations[sectionKey]
		if (f.Name == "help" || f.Name == "config") && cmd.HasParent() {
			return
		}
		if len(title) == 0 {
			rest.AddFlag(f)
			return
		}
		set := byTitle[title[0]]
		if set == nil {
			set = pflag.NewFlagSet(title[0], pflag.ContinueOnError)
			set.SortFlags = false
			byTitle[title[0]] = set
			list = append(list, set)
		}
		set.AddFlag(f)
	})
	if rest.HasFlags() {
		list = append(list, rest)
	}
	return list
}
