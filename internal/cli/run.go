package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/session"
)

// runOptions are the flags of run about the conversation.
type runOptions struct {
	user, session, replay, save, redirect string
	resume                                bool
	interrupts                            chan os.Signal // of tests; nil for those of the process
}

func newRun(env *Env) *cobra.Command {
	var (
		agents   agentFlags
		opts     runOptions
		networks []string
		database string
		record   recordingFlags
		level    = logLevels("warn")
	)
	cmd := &cobra.Command{
		Use:   "run [agent_dir]",
		Short: "Talk to an agent in the terminal",
		Long: `Talk to an agent in the terminal, or from a file or a pipe, one message a line.

In a terminal, lines can be edited, the arrow keys bring earlier ones back, Ctrl-C
stops an answer, and /help lists commands. With --session_db_url the conversation is
kept, and --resume or --session continues it.

The conversation ends with exit, quit or the end of the input. A tool that is
answered from outside shows the id of its call: /answer <id> <json> answers it.
A tool that needs a login shows the address to log in at, and continues when the
browser comes back, or when you paste the address that it came back to.
A call that has to be approved is asked about until y or n is the answer. What the
agent wants to know is asked, too: the next line is the answer. /say <text> speaks
to the agent in the meantime.`,
		Example: `  parley run my_agent
  parley run my_agent --offline --replay questions.txt --save_session session.json
  parley run my_agent --session_db_url sqlite:///chats.db --resume
  echo "What is the weather in Paris?" | parley run my_agent`,
		GroupID: groupAgents,
		Args:    takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := agents.config(env, cmd, args)
			if err != nil {
				return err
			}
			if err := agents.allow(&cfg, true); err != nil {
				return err
			}
			if opts.resume && database == "" {
				return &usageError{"--resume needs --session_db_url, which says where conversations are kept"}
			}
			cfg.Access.Mode, cfg.Sessions.URL = parley.AccessLocal, database
			cfg.Logins.AllowPrivate, cfg.Log = networks, slog.New(ownErrors{env.logger(level.value, "text").Handler()})
			record.configure(&cfg)
			if database != "" && cfg.Recording.Share == 0 {
				cfg.Recording.Share = 1
			}
			return converse(cmd.Context(), env, cfg, opts)
		},
		ValidArgsFunction: directories,
	}
	section(cmd, "Agents", agents.define)
	cmd.Flags().Lookup("allow_processes").DefValue = "true"
	section(cmd, "Conversation", func(flags *pflag.FlagSet) {
		flags.StringVar(&opts.user, "user", "user", "`id` of the user")
		flags.StringVar(&opts.session, "session", "", "`id` of the session, which is continued if it exists\n(default a new one)")
		flags.BoolVar(&opts.resume, "resume", false, "continue the last session of the user")
		flags.StringVar(&database, "session_db_url", "", "database that keeps the conversation: a `url` like\nsqlite:///path/to/file.db (default memory)")
		flags.StringVar(&opts.replay, "replay", "", "`file` with the messages: one per line, or JSON such as\n{\"state\": {}, \"queries\": [\"Hello\"]}")
		flags.StringVar(&opts.save, "save_session", "", "`file` for the session as JSON at the end")
	})
	section(cmd, "Recording", record.define)
	section(cmd, "Logins of users, for tools", func(flags *pflag.FlagSet) {
		flags.StringVar(&opts.redirect, "redirect_uri", "", "redirect `url` for the browser after a login\n(default a free port of this machine)")
		definePrivateLogins(flags, &networks)
	})
	section(cmd, "Logging", func(flags *pflag.FlagSet) {
		flags.Var(level, "log_level", "minimum level to log")
	})
	return cmd
}

// converse runs one conversation with the only application of cfg. A person who types
// stops answers with Ctrl-C. Otherwise, as for servers, the first signal ends it
// gracefully, and the second one immediately.
func converse(ctx context.Context, env *Env, cfg parley.Config, opts runOptions) error {
	interactive := env.StdinTerminal && opts.replay == ""
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if interactive {
		signals = signals[1:]
		if opts.interrupts == nil {
			opts.interrupts = make(chan os.Signal, 1)
			signal.Notify(opts.interrupts, os.Interrupt)
			defer signal.Stop(opts.interrupts)
		}
	}
	ctx, stop := signal.NotifyContext(ctx, signals...)
	defer stop()
	context.AfterFunc(ctx, stop)
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	var script *messages
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
	desk := newLoginListener(opts.redirect)
	defer desk.close()
	talk := &chat{
		server: srv, app: app.Name, user: opts.user, session: opts.session, interrupts: opts.interrupts, quit: quit,
		screen: newScreen(env), stderr: env.Stderr, interactive: interactive, desk: desk,
	}
	earlier, err := talk.find(ctx, opts.resume)
	if err != nil {
		return err
	}
	if interactive {
		fmt.Fprintf(env.Stdout, "Talking to %s. Type exit or quit to end, /help for more.\n", app.RootAgentName)
	}
	if earlier != nil {
		err = talk.resume(earlier)
	} else {
		begin := map[string]any{}
		if script != nil {
			begin["state"] = script.State
		}
		_, err = server.call(ctx, "POST", talk.path(), begin)
	}
	if err != nil {
		return err
	}
	switch {
	case script != nil:
		err = talk.all(ctx, script.next)
	case interactive && env.Raw != nil:
		typed := newEditor(env, desk.back)
		talk.keep = typed.history.keep
		err = talk.all(ctx, typed.next)
	case interactive:
		err = talk.all(ctx, lines(ctx, env.Stdin, env.Stdout, desk.back, opts.interrupts))
	default:
		err = talk.all(ctx, lines(ctx, env.Stdin, nil, desk.back, nil))
	}
	if interactive && cfg.Sessions.URL != "" {
		fmt.Fprintf(env.Stdout, "To continue, use --resume or --session %s.\n", talk.session)
	}
	if opts.save == "" {
		return err
	}
	srv.Close(ctx) // an interrupted run has ended by then
	return errors.Join(err, save(ctx, env, server, talk.path(), opts.save))
}

// find returns the session to continue, or nil if the conversation is a new one: that
// with the id, or the last one of the user.
func (c *chat) find(ctx context.Context, last bool) (*session.Session, error) {
	sessions := c.server.Sessions()
	if c.session == "" && last {
		latest, err := c.latest(ctx)
		if err != nil {
			return nil, err
		}
		if latest == nil {
			return nil, fmt.Errorf("%s has no session of %s to continue: leave --resume out", c.user, c.app)
		}
		c.session = latest.ID
	}
	if c.session == "" {
		c.session = ident.Session()
		return nil, nil
	}
	found, err := sessions.Get(ctx, session.Key{App: c.app, User: c.user, ID: c.session})
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil
	}
	return found, err
}

// latest returns the session of the user that changed last, or nil if there is none.
// Replays are left out: they repeat a conversation, and are not a part of it. Lists are
// in the order of creation, so that any page can have it.
func (c *chat) latest(ctx context.Context) (*session.Session, error) {
	var latest *session.Session
	for page := (session.Page{Size: 100}); ; {
		list, next, err := c.server.Sessions().List(ctx, c.app, c.user, page)
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			if replay := one.Origin != nil && one.Origin.Replay != ""; !replay && (latest == nil || one.Updated.After(latest.Updated)) {
				latest = one
			}
		}
		if next == "" {
			return latest, nil
		}
		page.Token = next
	}
}

// resume shows the last turn of a session, and finds the calls that wait for an answer.
func (c *chat) resume(earlier *session.Session) error {
	events, err := earlier.Events()
	if err != nil {
		return err
	}
	c.screen.line(fmt.Sprintf("Continuing the session %s, which has %d events.", c.session, len(events)))
	from := 0
	for i, ev := range events {
		c.watch(ev)
		if ev.Author == event.User && ev.Content != nil && ev.Content.Text() != "" {
			from = i
		}
	}
	for _, ev := range events[from:] {
		c.screen.show(ev)
	}
	c.screen.finish()
	c.showWaiting()
	c.asked = nil // a new message asks again
	return nil
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
		return nil, fmt.Errorf("no agent was found in %s: make one with parley create my_agent", dir)
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
