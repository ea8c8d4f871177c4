package eval

import (
	"fmt"
	"io"
	"strings"
)

// Summary writes how many cases of each set have passed, and what models that judge have used.
func Summary(out io.Writer, results []*SetResult) {
	fmt.Fprintln(out, "Eval Run Summary")
	for _, set := range results {
		failed := set.Failed()
		fmt.Fprintf(out, "%s:\n  Tests passed: %d\n  Tests failed: %d\n", set.Set, len(set.Cases)-failed, failed)
		for _, c := range set.Cases {
			if c.Status == Passed {
				continue
			}
			if c.Error != "" {
				fmt.Fprintf(out, "  %s could not be completed: %s\n", c.ID, c.Error)
			} else {
				fmt.Fprintf(out, "  %s: %s\n", c.ID, c.Why())
			}
			if set.ID != "" {
				fmt.Fprintf(out, "    session %s of user %s, in the result %s\n", c.Session, c.User, set.ID)
			}
		}
		if judges := set.judges(); judges != nil {
			fmt.Fprintf(out, "  Tokens of judges: %d, cost: %s\n", judges.Tokens, CostText(judges.CostUSD, judges.Unpriced))
		}
	}
}

// Failed is how many cases have not passed.
func (r *SetResult) Failed() int {
	failed := 0
	for _, c := range r.Cases {
		if c.Status != Passed {
			failed++
		}
	}
	return failed
}

// judges is what the models that judge have used; nil if there is none.
func (r *SetResult) judges() (sum *Usage) {
	for _, c := range r.Cases {
		c.JudgeUsage.addTo(&sum)
	}
	return sum
}

// Details writes what a case was about, and how it went.
func Details(out io.Writer, c *CaseResult) {
	fmt.Fprintf(out, "Eval Set Id: %s\nEval Id: %s\nOverall Eval Status: %s\n", c.Set, c.ID, c.Status)
	if c.Error != "" {
		fmt.Fprintf(out, "Error: %s\n", c.Error)
	}
	for _, s := range c.Scores {
		fmt.Fprintln(out, s)
	}
	for i, turn := range c.Turns {
		fmt.Fprintf(out, "Turn %d\n", i+1)
		line := func(label, text string) {
			fmt.Fprintf(out, "  %-20s %s\n", label, strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+strings.Repeat(" ", 23)))
		}
		line("Prompt:", turn.Expected.User.Text())
		line("Expected response:", turn.Expected.Final.Text())
		line("Actual response:", turn.Actual.Final.Text())
		line("Expected tool calls:", list(turn.Expected.Intermediate.Calls))
		line("Actual tool calls:", list(turn.Actual.Intermediate.Calls))
		for _, s := range turn.Scores {
			fmt.Fprintf(out, "  %s\n", s)
			if why := s.Why(); why != "" {
				fmt.Fprintf(out, "    %s\n", why)
			}
		}
	}
	fmt.Fprintln(out)
}

func list(calls []Call) string {
	if len(calls) == 0 {
		return "none"
	}
	var lines []string
	for _, call := range calls {
		lines = append(lines, call.Name+" "+string(call.Args))
	}
	return strings.Join(lines, "\n")
}

// Why is, in a few words, why a case has not passed.
func (c *CaseResult) Why() string {
	if c.Error != "" {
		return c.Error
	}
	var reasons []string
	for _, s := range c.Scores {
		var text string
		switch {
		case s.Status == Failed && s.Score != nil:
			text = fmt.Sprintf("%s is %.4g, less than %.4g", s.Name, *s.Score, s.Threshold)
		case s.Status == NotEvaluated:
			text = s.Name + " could not be measured"
		default:
			continue
		}
		if why := s.Why(); why != "" {
			text += " (" + why + ")"
		}
		reasons = append(reasons, text)
	}
	return strings.Join(reasons, "; ")
}
