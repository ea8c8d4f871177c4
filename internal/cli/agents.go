package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
)

// agentFlags are the flags of every command that runs agents.
type agentFlags struct {
	dir, appName string
	offline      bool
	engine       *choice
	memory       int64 // of one engine
	scratch      int64 // of one application
	hosts        []string
	processes    toggle
}

func (a *agentFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&a.dir, "agent_dir", ".", "`directory` of an agent, or of several, each in its\nown directory or file; or the file of an agent")
	flags.StringVar(&a.appName, "app_name", "", "`name` of the application, if there is only one\n(default that of its directory)")
	flags.BoolVar(&a.offline, "offline", false, "replace every model by one that needs no key and no\nnetwork")
	a.defineCode(flags)
}

// defineCode adds the flags about the code of agents. Processes are off by
// default for servers, and on for commands with which authors try their own
// agents.
func (a *agentFlags) defineCode(flags *pflag.FlagSet) {
	flags.VarPF(&a.processes, "allow_processes", "", "let agents start processes, such as MCP servers over\nstdio; they run as the user of this program").NoOptDefVal = "true"
	flags.StringSliceVar(&a.hosts, "allow_hosts_for_agents", nil, "`hosts` that the code of agents may connect to, such as\ndb.internal:5432 or 10.0.0.0/8, beside the public\ninternet; public for no more than that (default any)")
	flags.Int64Var(&a.scratch, "scratch_size", 256<<20, "`size` of the files that the code of an application may\nkeep below os.tmpdir(); 0 for none")
	a.engine = oneOf("quickjs", "node")
	flags.Var(a.engine, "engine", "what runs the code of agents whose package.json does not\nsay: QuickJS, or a process of Node.js for each, which\nruns as the user of this program")
	flags.Int64Var(&a.memory, "engine_memory", 256<<20, "`size` of the memory that the code of an application may\nuse, for each of its JavaScript engines")
}

// allow sets whether agents may start processes; byDefault applies unless the flag
// was given.
func (a *agentFlags) allow(cfg *parley.Config, byDefault bool) error {
	cfg.Scripts.AllowProcesses = byDefault
	if a.processes.given {
		cfg.Scripts.AllowProcesses = a.processes.on
	}
	if !cfg.Scripts.AllowProcesses && cfg.Scripts.Engine != parley.EngineNode {
		return nil
	}
	if err := hideProcess(); err != nil {
		return fmt.Errorf("--allow_processes or --engine node: this process cannot be hidden from those that agents start: %w", err)
	}
	return nil
}

// config returns the configuration from the flags. The directory may also be an
// argument, which takes precedence over its environment variable, like the flag.
func (a *agentFlags) config(env *Env, cmd *cobra.Command, args []string) (parley.Config, error) {
	dir := a.dir
	if len(args) > 0 {
		if cmd.Flags().Changed("agent_dir") {
			return parley.Config{}, &usageError{"the agent directory is set twice, as an argument and with --agent_dir"}
		}
		dir = args[0]
	}
	dir = env.path(dir)
	return parley.Config{
		Scripts: parley.ScriptConfig{Dir: dir, AppName: a.appName, Engine: parley.Engine(a.engine.value), EngineMemory: a.memory, AllowHosts: a.hosts, ScratchSize: cmp.Or(a.scratch, -1), CacheDir: env.CacheDir}, Offline: a.offline, Stdout: env.Stdout,
	}, nil
}

// directories makes the shell complete an argument with directories.
func directories(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// logLevels is the flag for the minimum level to log.
func logLevels(least string) *choice {
	levels := oneOf("debug", "info", "warn", "error")
	levels.value = least
	return levels
}

// logger returns a logger to standard error: standard output is for results.
func (e *Env) logger(level, format string) *slog.Logger {
	options := &slog.HandlerOptions{}
	var least slog.Level
	if least.UnmarshalText([]byte(level)) == nil { // the flag accepts no other values
		options.Level = least
	}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(e.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(e.Stderr, options))
}

// ownErrors is the log of a command that prints itself why an application does not
// work, and why an answer failed: they are not in its log as well.
type ownErrors struct{ slog.Handler }

func (o ownErrors) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "the application does not work" || r.Message == "the run failed" {
		return nil
	}
	return o.Handler.Handle(ctx, r)
}

func (o ownErrors) WithAttrs(attrs []slog.Attr) slog.Handler {
	return ownErrors{o.Handler.WithAttrs(attrs)}
}

func (o ownErrors) WithGroup(name string) slog.Handler { return ownErrors{o.Handler.WithGroup(name)} }
