package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
// Each is shown when it is there: a replay may take long, and cost money.
func (o *replayOptions) compare(ctx context.Context, env *Env, srv *parley.Server, key session.Key, ids []string, plans []replay.Plan) error {
	failed, out := 0, newVariantTable(env, plans)
	for _, id := range ids {
		if !o.json {
			fmt.Fprintf(env.Stdout, "run %s\n", id)
			out.row("MODEL", "TEMPERATURE", "STATUS", "CALLS", "TOKENS", "MS", "SESSION", "ANSWER")
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
				err = out.add(ctx, srv, session.Key{App: key.App, User: key.User, ID: report.Session}, plan, report)
			}
			if err != nil {
				return err
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d replays failed", failed, len(ids)*len(plans))
	}
	return nil
}

// variant is a report and what was different in its plan.
type variant struct {
	Model       string   `json:"model,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	*replay.Report
}

// variantTable prints replays on lines as they end, so its columns have widths that
// do not depend on the rows.
type variantTable struct {
	env   *Env
	model int // width of the column of models
}

func newVariantTable(env *Env, plans []replay.Plan) *variantTable {
	t := &variantTable{env: env, model: len("MODEL")}
	for i := range plans {
		width := utf8.RuneCountInString(plans[i].Model)
		if width == 0 { // that of the agent, which is not known yet
			width = len("gemini-2.5-flash-lite")
		}
		t.model = max(t.model, width)
	}
	return t
}

func (t *variantTable) row(model, temperature, status, calls, tokens, took, id, answer string) {
	status = t.env.colour(fmt.Sprintf("%-9s", status), statusColour(status))
	fmt.Fprintf(t.env.Stdout, "%-*s  %-11s  %s  %5s  %7s  %6s  %-*s  %s\n", t.model, model, temperature, status, calls, tokens, took, idWidth, id, answer)
}

// idWidth is the length of the ids of replays.
const idWidth = 26

// add prints one replay.
func (t *variantTable) add(ctx context.Context, srv *parley.Server, key session.Key, plan replay.Plan, r *replay.Report) error {
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
	t.row(clean(name), temperature, string(r.Status), strconv.Itoa(calls), strconv.FormatInt(tokens, 10), strconv.FormatFloat(took, 'f', 0, 64), key.ID, clean(brief(answer)))
	return nil
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
