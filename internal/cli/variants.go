package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
)

// variants are the plans that the flags describe: each model at each temperature.
func (o *replayOptions) variants() []replay.Plan {
	models, temperatures := o.models, []*float64{nil}
	if len(models) == 0 {
		models = []string{""}
	}
	if len(o.temperatures) > 0 {
		temperatures = nil
		for i := range o.temperatures {
			temperatures = append(temperatures, &o.temperatures[i])
		}
	}
	var plans []replay.Plan
	for _, name := range models {
		for _, t := range temperatures {
			plan := o.plan
			plan.Model, plan.Temperature = name, t
			plans = append(plans, plan)
		}
	}
	return plans
}

// compare repeats runs with each of the plans, and shows the answers beside each other.
func (o *replayOptions) compare(ctx context.Context, env *Env, srv *parley.Server, key session.Key, ids []string, plans []replay.Plan) error {
	failed := 0
	for _, id := range ids {
		out := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
		if !o.json {
			fmt.Fprintf(out, "run %s\nMODEL\tTEMPERATURE\tSTATUS\tCALLS\tTOKENS\tMS\tSESSION\tANSWER\n", id)
		}
		for _, plan := range plans {
			report, err := srv.Replay(ctx, key, id, plan)
			if err != nil {
				return err
			}
			if report.Status == session.Failed {
				failed++
			}
			if o.json {
				err = json.NewEncoder(env.Stdout).Encode(variant{plan.Model, plan.Temperature, report})
			} else {
				err = row(ctx, out, srv, session.Key{App: key.App, User: key.User, ID: report.Session}, plan, report)
			}
			if err != nil {
				return err
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d repetitions failed", failed, len(ids)*len(plans))
	}
	return nil
}

// variant is a report and what was different in its plan.
type variant struct {
	Model       string   `json:"model,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	*replay.Report
}

// row prints one repetition on a line.
func row(ctx context.Context, out *tabwriter.Writer, srv *parley.Server, key session.Key, plan replay.Plan, r *replay.Report) error {
	s, err := srv.Sessions().Get(ctx, key)
	if err != nil {
		return err
	}
	tokens, answer := int64(0), ""
	for _, entry := range s.Entries {
		ev, err := entry.Decode()
		if err != nil || ev.InvocationID != r.Run || ev.Author == event.User {
			continue
		}
		if ev.Usage != nil {
			tokens += ev.Usage.Total
		}
		if ev.Content != nil && ev.Content.Text() != "" {
			answer = ev.Content.Text()
		}
	}
	if r.Failure != nil {
		answer = r.Failure.Message
	}
	name, temperature, took := plan.Model, "", 0.0
	if plan.Temperature != nil {
		temperature = strconv.FormatFloat(*plan.Temperature, 'g', -1, 64)
	}
	for _, c := range r.Calls {
		took += c.Milliseconds
		if name == "" && c.Kind == replay.ModelCall {
			name = c.Name
		}
	}
	calls := len(slices.DeleteFunc(slices.Clone(r.Calls), func(c *replay.Call) bool { return c.Missing }))
	_, err = fmt.Fprintf(out, "%s\t%s\t%s\t%d\t%d\t%.0f\t%s\t%s\n", clean(name), temperature, r.Status, calls, tokens, took, key.ID, clean(brief(answer)))
	return err
}

// brief is the beginning of a text, on one line.
func brief(text string) string {
	const most = 80
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most-1]) + "…"
	}
	return text
}
