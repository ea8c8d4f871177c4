package cli

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
)

func newEval(env *Env) *cobra.Command {
	var (
		agents agentFlags
		e      parley.Evaluation
		// Whether every turn is shown; the file for the results.
		detailed bool
		junit    string
		asJSON   bool
		address  string // of a server, for links
		vary     varyFlags
		level    = logLevels("warn")
	)
	cmd := &cobra.Command{
		Use:   "eval agent_dir [set...]",
		Short: "Check that an agent does what it is expected to do",
		Long: `Hold the conversations of evaluation sets with an agent, and compare the tools
that it calls and the answers that it gives with those that are expected.

A set is a file, or the id of a set in the agent's directory, where it is
<id>.evalset.json; :one,two at its end picks cases. Without a set, all of those
in the directory are used. Every case has a session of its own, in memory.

With several models, temperatures or instructions, the sets are run with each model
and each instruction at each temperature, three at a time, and a table shows the scores.

The exit code is 1 when a case fails.`,
		Example: `  parley eval my_agent
  parley eval my_agent smoke:greeting,weather --print_detailed_results
  parley eval my_agent smoke --model gemini-2.5-pro --model gpt-5 --temperature 0 --json
  parley eval my_agent tests/smoke.evalset.json --config_file_path criteria.json --junit results.xml`,
		GroupID: groupAgents,
		Args:    needs("the directory of the agent"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := agents.config(env, cmd, args[:1])
			if err != nil {
				return err
			}
			if err := agents.allow(&cfg, true); err != nil {
				return err
			}
			server, err := serverURL(address)
			if err != nil {
				return err
			}
			cfg.Log = env.logger(level.value, "text")
			e.Sets, e.Dir = args[1:], env.Dir
			if e.Variants, err = vary.variants(); err != nil {
				return err
			}
			if !asJSON {
				bar := progress{env: env, terminal: env.StdoutTerminal && !env.dumb()}
				e.Progress = bar.show
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			result, err := parley.Evaluate(ctx, cfg, e)
			if err != nil {
				return err
			}
			return report(env, result, server, detailed, asJSON, junit)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return directories(cmd, args, typed)
			}
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	section(cmd, "Agents", func(flags *pflag.FlagSet) {
		flags.StringVar(&agents.appName, "app_name", "", "`name` of the application (default that of its directory)")
		flags.BoolVar(&agents.offline, "offline", false, "replace every model by one that needs no key and no\nnetwork")
		agents.defineCode(flags)
		flags.Lookup("allow_processes").DefValue = "true"
	})
	section(cmd, "Evaluation", func(flags *pflag.FlagSet) {
		flags.StringVar(&e.Config, "config_file_path", "", "`file` with the criteria, such as\n{\"criteria\": {\"response_match_score\": 0.8}} (default\ntest_config.json in the directory of the agent, if it is\nthere)")
		flags.BoolVar(&detailed, "print_detailed_results", false, "show every turn, expected and actual")
		flags.BoolVar(&e.Recorded, "recorded_tools", false, "answer the calls of tools with the results in the cases,\nand make none")
		vary.define(flags)
		flags.StringVar(&junit, "junit", "", "`file` for the results as JUnit XML")
		flags.StringVar(&address, "server", "", "`url` of a server with the developer UI that serves this\nagent's directory: results as JUnit and JSON have the\naddress of the page with the trace of each case")
		jsonFlag(flags, &asJSON)
	})
	section(cmd, "Logging", func(flags *pflag.FlagSet) {
		flags.Var(level, "log_level", "minimum level to log")
	})
	return cmd
}

// serverURL reads the address of a server; nil if it is empty.
func serverURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	base, err := url.Parse(text)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, &usageError{fmt.Sprintf("--server: %q is not like %s", text, defaultServer)}
	}
	return base, nil
}

// progress shows the progress of an evaluation: as a bar on a terminal, otherwise
// as a line for every case.
type progress struct {
	env      *Env
	terminal bool
	failed   int
}

const barWidth = 30

func (p *progress) show(done, total int, set, id string, passed bool) {
	out, outcome := p.env.Stdout, p.env.colour("PASSED", colourGreen)
	if !passed {
		outcome = p.env.colour("FAILED", colourRed)
		p.failed++
	}
	if !p.terminal {
		fmt.Fprintf(out, "%s %s:%s\n", outcome, clean(set), clean(id))
		return
	}
	if !passed { // it stays, above the bar
		fmt.Fprintf(out, "\r\x1b[K%s %s:%s\n", outcome, clean(set), clean(id))
	}
	full := barWidth * done / max(total, 1)
	fmt.Fprintf(out, "\r\x1b[K[%s%s] %d/%d, %d failed", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), done, total, p.failed)
	if done == total {
		fmt.Fprintln(out)
	}
}

// report prints the result of an evaluation. It fails if a case has failed.
func report(env *Env, result *parley.EvaluationResult, server *url.URL, detailed, asJSON bool, junit string) error {
	if asJSON {
		doc, err := result.JSON(server)
		if err != nil {
			return err
		}
		if err := env.writeJSON(json.RawMessage(doc)); err != nil {
			return err
		}
	} else {
		// Parts of it come from models and tools.
		if detailed {
			fmt.Fprint(env.Stdout, clean(result.Details()))
		}
		if err := summarize(env.Stdout, result); err != nil {
			return err
		}
	}
	if junit != "" {
		if err := os.WriteFile(env.path(junit), result.JUnit(server), 0o644); err != nil { //nolint:gosec // for CI systems, which may be other users
			return fmt.Errorf("write the results: %w", err)
		}
	}
	cases, failed := result.Count()
	switch {
	case failed > 0 && !detailed && !asJSON:
		return fmt.Errorf("%d of %d cases failed: --print_detailed_results shows where", failed, cases)
	case failed > 0:
		return fmt.Errorf("%d of %d cases failed", failed, cases)
	}
	return nil
}
