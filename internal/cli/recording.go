package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
)

// recordingFlags configure what is kept of runs so that they can be repeated.
type recordingFlags struct {
	share share
	ttl   time.Duration
}

// share is parley.RecordingConfig.Share as a flag. 0 means none there, and what is not
// given means the default, which is 0 in the configuration.
type share float64

func (s *share) Set(text string) error {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return err
	}
	if value == 0 {
		value = -1
	}
	*s = share(value)
	return nil
}

func (s *share) String() string { return strconv.FormatFloat(max(float64(*s), 0), 'g', -1, 64) }

func (s *share) Type() string { return "float64" }

func (r *recordingFlags) define(flags *pflag.FlagSet) {
	flags.Var(&r.share, "record", "`share` of the runs of which requests to models and\nanswers of models and tools are kept, so that parley\nreplay can compare them: from 0, none, to 1, all\n(default 1 for a local server with the developer UI,\nand for parley run with a database)")
	flags.DurationVar(&r.ttl, "record_ttl", 7*24*time.Hour, "`time` after which recordings are deleted; 0 means with\ntheir sessions")
}

func (r *recordingFlags) configure(cfg *parley.Config) {
	cfg.Recording.Share = float64(r.share)
	if cfg.Recording.TTL = r.ttl; r.ttl == 0 {
		cfg.Recording.TTL = -1
	}
}

// replayOptions are the flags of replay about what is repeated, and how.
type replayOptions struct {
	user                  string
	plan                  replay.Plan
	instructions, results []string
	models                []string
	temperatures          []float64
	json                  bool
}

func newReplay(env *Env) *cobra.Command {
	var (
		agents   agentFlags
		sessions string
		opts     replayOptions
		level    = logLevels("warn")
	)
	cmd := &cobra.Command{
		Use:   "replay session [run]",
		Short: "Repeat runs, and compare them with what they were",
		Long: `Repeat a run of a session with today's code, or all of them, and show what
differs: requests to models, calls of tools, and events.

Models and tools are not called: they answer what they answered in the run.
A call for which there is no answer ends the replay. Flags say which calls are
made after all. A replay is a new session; the one that is repeated stays as it
is.

Requests to models can only be compared in runs that were recorded: see --record of
parley web and parley api_server.

With several models or temperatures, a run is repeated with each model at each
temperature, and a table shows the answers.

The exit code is 1 if something differs, and with several models or temperatures
only if a replay fails.`,
		Example: `  parley replay trip-to-oslo --agent_dir my_agent --session_db_url sqlite://sessions.db
  parley replay trip-to-oslo e-k3v7qzt5mwn2xh4bj6rdyp3fca --live_models --model gemini-2.5-pro
  parley replay trip-to-oslo --live_models --model gemini-2.5-pro --model gpt-5
  parley replay trip-to-oslo e-k3v7qzt5mwn2xh4bj6rdyp3fca --from 3 --live_tools
  parley replay trip-to-oslo e-k3v7qzt5mwn2xh4bj6rdyp3fca --live 2
  parley replay trip-to-oslo e-k3v7qzt5mwn2xh4bj6rdyp3fca --result '2={"temperature": 30}'`,
		GroupID: groupAgents,
		Args:    takes(2, "the session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := agents.config(env, cmd, nil)
			if err != nil {
				return err
			}
			if err := agents.allow(&cfg, true); err != nil {
				return err
			}
			if sessions == "" {
				return &usageError{"--session_db_url must name the database with the session"}
			}
			cfg.Access.Mode, cfg.Log = parley.AccessLocal, env.logger(level.value, "text")
			cfg.Sessions.URL, cfg.Sessions.Passive = sessions, true // runs of a server stay with it
			if err := opts.parse(); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return opts.repeat(ctx, env, cfg, args)
		},
	}
	section(cmd, "Agents", agents.define)
	cmd.Flags().Lookup("allow_processes").DefValue = "true"
	section(cmd, "Session", func(flags *pflag.FlagSet) {
		flags.StringVar(&sessions, "session_db_url", "", "database of the session: a `url` like\nsqlite:///path/to/file.db or postgres://user@host/db")
		flags.StringVar(&opts.user, "user", "user", "`id` of the user")
	})
	section(cmd, "Calls", func(flags *pflag.FlagSet) {
		flags.BoolVar(&opts.plan.LiveModels, "live_models", false, "call the models")
		flags.BoolVar(&opts.plan.LiveTools, "live_tools", false, "call the tools, with all their effects; with --from or\n--result only from there on")
		flags.IntVar(&opts.plan.From, "from", 0, "call the models from the recorded call with this\n`number` on, and the tools with --live_tools")
		flags.IntSliceVar(&opts.plan.Live, "live", nil, "`number` of a recorded call, of a model or a tool, to\nmake again with all its effects; repeat it for several")
		flags.StringArrayVar(&opts.models, "model", nil, "`name` of the model to call in place of those of the\nagents; with --live_models, --from, --result or --live; repeat it\nto compare several")
		flags.Float64SliceVar(&opts.temperatures, "temperature", nil, "`number` to ask models for as their temperature; with\n--live_models, --from, --result or --live; repeat it to compare\nseveral")
		flags.StringArrayVar(&opts.instructions, "instruction", nil, "`agent=text` with another instruction for an agent; with\n--live_models, --from, --result or --live; repeat it for several")
		flags.StringArrayVar(&opts.results, "result", nil, "`number=json` with another result for the recorded call\nof a tool; models are called from there on; repeat it\nfor several")
	})
	section(cmd, "Output", func(flags *pflag.FlagSet) {
		flags.BoolVar(&opts.json, "json", false, "print a JSON document for each run")
		flags.Var(level, "log_level", "minimum level to log")
	})
	return cmd
}

// parse reads the flags that have a name and a value.
func (o *replayOptions) parse() error {
	for _, one := range o.instructions {
		name, text, ok := strings.Cut(one, "=")
		if !ok {
			return fmt.Errorf("--instruction: %q is not like agent=text", one)
		}
		if o.plan.Instructions == nil {
			o.plan.Instructions = map[string]string{}
		}
		o.plan.Instructions[name] = text
	}
	for _, one := range o.results {
		name, text, ok := strings.Cut(one, "=")
		n, err := strconv.Atoi(name)
		if !ok || err != nil {
			return fmt.Errorf("--result: %q is not like 2={\"key\": \"value\"}", one)
		}
		if o.plan.Results == nil {
			o.plan.Results = map[int]json.RawMessage{}
		}
		o.plan.Results[n] = json.RawMessage(text)
	}
	return nil
}

// repeat repeats the runs that args name.
func (o *replayOptions) repeat(ctx context.Context, env *Env, cfg parley.Config, args []string) error {
	srv, err := parley.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer srv.Close(ctx)
	app, err := theApp(ctx, &local{srv.Handler()}, cfg.Scripts.Dir)
	if err != nil {
		return err
	}
	key := session.Key{App: app.Name, User: o.user, ID: args[0]}
	ids := args[1:]
	if len(ids) == 0 {
		if ids, err = runsOf(ctx, srv, key); err != nil {
			return err
		}
	}
	plans := o.variants()
	if err := o.warn(ctx, env, srv, key, ids, plans); err != nil {
		return err
	}
	if len(plans) > 1 {
		return o.compare(ctx, env, srv, key, ids, plans)
	}
	different := 0
	for _, id := range ids {
		report, err := srv.Replay(ctx, key, id, plans[0])
		if err != nil {
			return err
		}
		if !report.Same {
			different++
		}
		if err := o.print(env, report); err != nil {
			return err
		}
	}
	if different > 0 {
		return fmt.Errorf("%d of %d runs differ", different, len(ids))
	}
	return nil
}

// warn says which calls of tools the plans have made again.
func (o *replayOptions) warn(ctx context.Context, env *Env, srv *parley.Server, key session.Key, ids []string, plans []replay.Plan) error {
	if !o.plan.LiveTools && len(o.plan.Live) == 0 {
		return nil
	}
	times := ""
	if len(plans) > 1 {
		times = fmt.Sprintf(", %d times", len(plans))
	}
	for _, id := range ids {
		recording, err := srv.Recording(ctx, key, id)
		if err != nil {
			return err
		}
		for i, step := range recording.Steps {
			if step.Kind == replay.ToolCall && o.plan.Makes(i+1, replay.ToolCall) {
				fmt.Fprint(env.Stderr, clean(fmt.Sprintf("run %s: call %d is made again: the tool %s is called with all its effects%s\n", id, i+1, step.Name, times)))
			}
		}
	}
	return nil
}

// runsOf returns the ids of the runs of a session that have ended, oldest first.
func runsOf(ctx context.Context, srv *parley.Server, key session.Key) ([]string, error) {
	s, err := srv.Sessions().Get(ctx, key)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, entry := range s.Entries {
		ev, err := entry.Decode()
		if err == nil && ev.Author == "user" && ev.Content != nil && !slices.Contains(ids, ev.InvocationID) {
			ids = append(ids, ev.InvocationID)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("the session %s has no runs", key.ID)
	}
	return ids, nil
}

func (o *replayOptions) print(env *Env, r *replay.Report) error {
	if o.json {
		return json.NewEncoder(env.Stdout).Encode(r)
	}
	var b strings.Builder
	verdict := env.colour("is the same", colourGreen)
	if !r.Same {
		verdict = env.colour("differs", colourRed)
	}
	fmt.Fprintf(env.Stdout, "run %s %s (repeated in the session %s)\n", clean(r.Run), verdict, clean(r.Session))
	if r.FromLog {
		b.WriteString("  It was not recorded: requests to models were not compared.\n")
	}
	if r.CodeChanged {
		b.WriteString("  The code of the application has changed since.\n")
	}
	for _, c := range r.Calls {
		how := "recorded"
		switch {
		case c.Cancelled:
			how = "cancelled, as the run was"
		case c.Missing:
			how = "not called, and no answer was recorded"
		case c.Replaced:
			how = "with another result"
		case c.Live:
			how = fmt.Sprintf("called, %.0f ms", c.Milliseconds)
		}
		if c.Repeats {
			how += fmt.Sprintf("; the run has called it, too, and its effect is %q", c.Effect)
		}
		fmt.Fprintf(&b, "  %d. %s %s: %s %s\n", c.Number, c.Agent, c.Kind, c.Name, how)
		printDifferences(&b, c.Differences)
	}
	for _, ev := range r.Events {
		if len(ev.Differences) > 0 {
			fmt.Fprintf(&b, "  event of %s\n", ev.Author)
			printDifferences(&b, ev.Differences)
		}
	}
	for _, n := range r.Unused {
		fmt.Fprintf(&b, "  The recorded call %d was not made.\n", n)
	}
	if r.Failure != nil && !r.Same {
		fmt.Fprintf(&b, "  It ended: %s\n", r.Failure.Message)
	}
	for line := range strings.Lines(clean(b.String())) { // parts of it come from models and tools
		text, colour := strings.TrimSuffix(line, "\n"), ""
		switch {
		case strings.HasPrefix(text, recordedMark):
			colour = colourRed
		case strings.HasPrefix(text, nowMark):
			colour = colourGreen
		}
		if colour != "" {
			text = env.colour(text, colour)
		}
		fmt.Fprintln(env.Stdout, text)
	}
	return nil
}

// The marks of what is different.
const (
	recordedMark = "       - "
	nowMark      = "       + "
)

func printDifferences(b *strings.Builder, list []replay.Difference) {
	for _, d := range list {
		fmt.Fprintf(b, "     %s\n", d.Path)
		if d.Recorded != nil {
			fmt.Fprintf(b, "%s%s\n", recordedMark, d.Recorded)
		}
		if d.Now != nil {
			fmt.Fprintf(b, "%s%s\n", nowMark, d.Now)
		}
	}
}
