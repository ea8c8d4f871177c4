package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/ident"
)

// runOptions are the flags of run about the conversation.
type runOptions struct {
	user, session, replay, save, redirect string
}

func newRun(env *Env) *cobra.Command {
	var (
		agents   agentFlags
		opts     runOptions
		networks []string
		level    = logLevels("warn")
	)
	cmd := &cobra.Command{
		Use:   "run [agent_dir]",
		Short: "Talk to an agent in the terminal",
		Long: `Talk to an agent in the terminal, or from a file or a pipe, one message a line.

The conversation ends with exit, quit or the end of the input. A tool that is
answered from outside shows the id of its call: /answer <id> <json> answers it.
A tool that needs a login shows the address to log in at, and continues when the
browser comes back, or when you paste the address that it came back to.
A call that has to be approved is asked about, and so is what the agent wants to
know: the next line is the answer, except that /say <text> speaks to the agent.`,
		Example: `  parley run my_agent
  parley run my_agent --offline --replay questions.txt --save_session session.json
  echo "What is the weather in Paris?" | parley run my_agent`,
		GroupID: groupAgents,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := agents.config(env, cmd, args)
			if err != nil {
				return err
			}
			if err := agents.allow(&cfg, true); err != nil {
				return err
			}
			cfg.Access.Mode = parley.AccessLocal
			cfg.Logins.AllowPrivate, cfg.Log = networks, env.logger(level.value, "text")
			return converse(cmd.Context(), env, cfg, opts)
		},
		ValidArgsFunction: directories,
	}
	section(cmd, "Agents", agents.define)
	cmd.Flags().Lookup("allow_processes").DefValue = "true"
	section(cmd, "Conversation", func(flags *pflag.FlagSet) {
		flags.StringVar(&opts.user, "user", "user", "`id` of the user")
		flags.StringVar(&opts.session, "session", "", "`id` of the session (default a new one)")
		flags.StringVar(&opts.replay, "replay", "", "`file` with the messages: one per line, or JSON such as\n{\"state\": {}, \"queries\": [\"Hello\"]}")
		flags.StringVar(&opts.save, "save_session", "", "`file` for the session as JSON at the end")
	})
	section(cmd, "Logins of users, for tools", func(flags *pflag.FlagSet) {
		flags.StringVar(&opts.redirect, "redirect_uri", "", "redirect `url` for the browser after a login\n(default a free port of this machine)")
		definePrivateLogins(flags, &networks)
	})
	section(cmd, "Logging", func(flags *pflag.FlagSet) {
		flags.Var(level, "log_level", "minimum level to log")
	})
	return cmd
}

// converse runs one conversation with the only application of cfg. As for servers,
// the first signal ends it gracefully, and the second one immediately.
func converse(ctx context.Context, env *Env, cfg parley.Config, opts runOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	var script *replay
	if opts.replay != "" {
		var err error
		if script, err = readReplay(env.path(opts.replay)); err != nil {
			return err
		}
	}
	srv, err := parley.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer srv.Close(ctx) // when ctx is done, runs get no more time to end
	server := &local{srv.Handler()}
	app, err := theApp(ctx, server, cfg.Scripts.Dir)
	if err != nil {
		return err
	}
	if opts.session == "" {
		opts.session = ident.Session()
	}
	desk := newDesk(opts.redirect)
	defer desk.close()
	talk := &chat{
		server: srv, app: app.Name, user: opts.user, session: opts.session,
		screen: newScreen(env), stderr: env.Stderr, interactive: env.StdinTerminal && script == nil, desk: desk,
	}
	begin := map[string]any{}
	if script != nil {
		begin["state"] = script.State
	}
	if _, err := server.call(ctx, "POST", talk.path(), begin); err != nil {
		return err
	}
	if script != nil {
		err = talk.all(ctx, script.next)
	} else {
		if talk.interactive {
			fmt.Fprintf(env.Stdout, "Talking to %s. Type exit or quit to end.\n", app.RootAgentName)
		}
		err = talk.all(ctx, lines(ctx, env.Stdin, desk.back))
	}
	if opts.save == "" {
		return err
	}
	srv.Close(ctx) // an interrupted run has ended by then
	return errors.Join(err, save(ctx, env, server, talk.path(), opts.save))
}

// application is the server's description of an application.
type application struct {
	Name          string
	RootAgentName string
	Error         string
}

// theApp returns the only application in a directory. It fails if there are
// several, or if it does not work.
func theApp(ctx context.Context, server *local, dir string) (*application, error) {
	var list struct{ Apps []application }
	if err := server.get(ctx, "/list-apps?detailed=true", &list); err != nil {
		return nil, err
	}
	switch {
	case len(list.Apps) == 0:
		return nil, fmt.Errorf("no agent was found in %s", dir)
	case len(list.Apps) > 1:
		names := make([]string, len(list.Apps))
		for i, one := range list.Apps {
			names[i] = one.Name
		}
		return nil, fmt.Errorf("there are %d agents in %s: name the directory or the file of one of them: %s", len(names), dir, strings.Join(names, ", "))
	}
	if app := &list.Apps[0]; app.Error == "" {
		return app, nil
	}
	return nil, fmt.Errorf("the agent %s does not work: %s", list.Apps[0].Name, list.Apps[0].Error)
}
