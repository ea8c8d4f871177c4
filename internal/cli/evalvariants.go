package cli

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/eval"
)

// varyFlags are the flags that name variants of an evaluation.
type varyFlags struct {
	models, instructions []string
	temperatures         []float64
}

func (f *varyFlags) define(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.models, "model", nil, "`name` of a model to ask in place of those of the agents;\nrepeat it to compare several")
	flags.Float64SliceVar(&f.temperatures, "temperature", nil, "`number` to ask models for as their temperature; repeat\nit to compare several")
	flags.StringArrayVar(&f.instructions, "instruction", nil, "`AGENT=TEXT` to compare with the agent's own instruction,\nwhich it replaces as a whole; may be repeated")
}

// variants are those that the flags describe: each model and each instruction at each
// temperature. There are none without flags.
func (f *varyFlags) variants() ([]parley.EvaluationVariant, error) {
	if len(f.models)+len(f.instructions)+len(f.temperatures) == 0 {
		return nil, nil
	}
	models, temperatures, texts := f.models, []*float64{nil}, []map[string]string{nil}
	if len(models) == 0 {
		models = []string{""}
	}
	if len(f.temperatures) > 0 {
		temperatures = nil
		for i := range f.temperatures {
			temperatures = append(temperatures, &f.temperatures[i])
		}
	}
	for _, one := range f.instructions {
		name, text, ok := strings.Cut(one, "=")
		if !ok || name == "" {
			return nil, &usageError{fmt.Sprintf("--instruction: %q is not like agent=text", one)}
		}
		texts = append(texts, map[string]string{name: text})
	}
	var list []parley.EvaluationVariant
	for _, name := range models {
		for _, text := range texts {
			for _, t := range temperatures {
				list = append(list, parley.EvaluationVariant{Model: name, Instructions: text, Temperature: t})
			}
		}
	}
	return list, nil
}

// varied reports whether a set was run more than once.
func varied(result *parley.EvaluationResult) bool {
	seen := map[string]bool{}
	for i := range result.Sets {
		set := &result.Sets[i]
		if seen[set.ID] || set.Variant.Model != "" || set.Variant.Temperature != nil || len(set.Variant.Instructions) > 0 {
			return true
		}
		seen[set.ID] = true
	}
	return false
}

// spent is what models have used.
type spent struct {
	tokens, unpriced int64
	costUSD          *float64 // nil if it is unknown
}

func (s *spent) add(tokens, unpriced int64, costUSD *float64) {
	s.tokens += tokens
	s.unpriced += unpriced
	if costUSD != nil {
		usd := *costUSD
		if s.costUSD != nil {
			usd = math.Round((usd+*s.costUSD)*1e9) / 1e9
		}
		s.costUSD = &usd
	}
}

// evalSum is what the cases of a set have in sum.
type evalSum struct {
	spent

	judges  spent
	seconds float64
	passed  int
	scores  map[string]float64
}

func sumOf(set *parley.EvaluatedSet) evalSum {
	sum := evalSum{scores: map[string]float64{}}
	counts := map[string]float64{}
	for _, c := range set.Cases {
		if c.Passed {
			sum.passed++
		}
		sum.add(c.Tokens, c.Unpriced, c.CostUSD)
		sum.judges.add(c.JudgeTokens, c.JudgeUnpriced, c.JudgeCostUSD)
		sum.seconds += c.Duration.Seconds()
		for _, s := range c.Scores {
			if s.Measured {
				counts[s.Metric]++
				sum.scores[s.Metric] += (s.Score - sum.scores[s.Metric]) / counts[s.Metric]
			}
		}
	}
	return sum
}

// summarize prints how many cases of each set have passed or, with variants, a table.
func summarize(out io.Writer, result *parley.EvaluationResult) error {
	if !varied(result) {
		_, err := fmt.Fprint(out, clean(result.Summary()))
		return err
	}
	sums, metrics, judged := make([]evalSum, len(result.Sets)), map[string]bool{}, false
	for i := range result.Sets {
		sums[i] = sumOf(&result.Sets[i])
		judged = judged || sums[i].judges.tokens > 0
		for name := range sums[i].scores {
			metrics[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(metrics))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "SET\tVARIANT\tPASSED\tFAILED")
	for _, name := range names {
		fmt.Fprint(table, "\t", strings.ToUpper(name))
	}
	fmt.Fprint(table, "\tTOKENS\tCOST")
	if judged {
		fmt.Fprint(table, "\tJUDGE_TOKENS\tJUDGE_COST")
	}
	fmt.Fprintln(table, "\tSECONDS\tRESULT")
	for i := range result.Sets {
		set, sum := &result.Sets[i], &sums[i]
		fmt.Fprintf(table, "%s\t%s\t%d\t%d", clean(set.ID), clean(set.Variant.String()), sum.passed, len(set.Cases)-sum.passed)
		for _, name := range names {
			text := "none"
			if score, ok := sum.scores[name]; ok {
				text = strconv.FormatFloat(math.Round(score*1000)/1000, 'g', -1, 64)
			}
			fmt.Fprint(table, "\t", text)
		}
		fmt.Fprintf(table, "\t%d\t%s", sum.tokens, eval.CostText(sum.costUSD, sum.unpriced))
		if judged {
			fmt.Fprintf(table, "\t%d\t%s", sum.judges.tokens, eval.CostText(sum.judges.costUSD, sum.judges.unpriced))
		}
		fmt.Fprintf(table, "\t%.1f\t%s\n", sum.seconds, clean(set.Result))
	}
	return table.Flush()
}
