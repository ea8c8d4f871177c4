package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
)

// result is one line of the report.
type result struct {
	Scenario string `json:"scenario"`
	Unit     string `json:"unit"`

	// Parley is what was measured, and Baseline what it is compared with: the
	// bare server, for run_recorded one that does not record, for databases the same
	// statements without Parley or the same load in memory, and for long_session early
	// turns. Both are medians of the rounds, or percentiles of all. Baseline is 0 when there
	// is nothing to compare with.
	Parley   float64 `json:"parley"`
	Baseline float64 `json:"baseline,omitzero"`

	// Ratio is the median of the rounds' ratios; Lowest and Highest say how
	// much they differ. Best compares the best round of each.
	Ratio   float64 `json:"ratio,omitzero"`
	Best    float64 `json:"bestRatio,omitzero"`
	Lowest  float64 `json:"lowestRatio,omitzero"`
	Highest float64 `json:"highestRatio,omitzero"`

	RatioLimit float64 `json:"ratioLimit,omitzero"`
	RatioFloor float64 `json:"ratioFloor,omitzero"` // for what is better when it is more
	ValueLimit float64 `json:"valueLimit,omitzero"`
	MustBeZero bool    `json:"mustBeZero,omitzero"` // which no limit can say
}

// compared is the result of rounds in which the two were measured in turns. The
// ratio is taken within each round, where the machine was the same for both.
func compared(scenario, unit string, parley, baseline []float64, limit float64) result {
	ratios := make([]float64, len(parley))
	for i := range parley {
		ratios[i] = parley[i] / baseline[i]
	}
	return result{
		Scenario: scenario, Unit: unit, Parley: median(parley), Baseline: median(baseline),
		Ratio: median(ratios), Best: slices.Min(parley) / slices.Min(baseline),
		Lowest: slices.Min(ratios), Highest: slices.Max(ratios), RatioLimit: limit,
	}
}

// rates is compared for figures of which more is better.
func rates(scenario, unit string, parley, baseline []float64, floor float64) result {
	r := compared(scenario, unit, parley, baseline, 0)
	r.Best, r.RatioFloor = slices.Max(parley)/slices.Max(baseline), floor
	return r
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// verdict is empty when there is no limit.
func (r result) verdict() string {
	switch {
	case r.limit() == "-":
		return ""
	case r.RatioLimit > 0 && r.Ratio > r.RatioLimit, r.Ratio < r.RatioFloor,
		r.ValueLimit > 0 && r.Parley > r.ValueLimit, r.MustBeZero && r.Parley > 0:
		return "missed"
	}
	return "ok"
}

func (r result) limit() string {
	switch {
	case r.RatioLimit > 0:
		return fmt.Sprintf("%.1f times", r.RatioLimit)
	case r.RatioFloor > 0:
		return fmt.Sprintf("at least %.1f times", r.RatioFloor)
	case r.ValueLimit > 0:
		return strconv.FormatFloat(r.ValueLimit, 'f', -1, 64)
	case r.MustBeZero:
		return "0"
	}
	return "-"
}

func printTable(w io.Writer, results []result) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "scenario\tunit\tparley\tbaseline\tratio\tbest\tlowest to highest\tlimit\t")
	for _, r := range results {
		baseline, ratio, best, spread := "-", "-", "-", "-"
		if r.Baseline > 0 {
			baseline, ratio = number(r.Baseline), fmt.Sprintf("%.2f", r.Ratio)
		}
		if r.Highest > 0 {
			best = fmt.Sprintf("%.2f", r.Best)
			spread = fmt.Sprintf("%.2f to %.2f", r.Lowest, r.Highest)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			r.Scenario, r.Unit, number(r.Parley), baseline, ratio, best, spread, r.limit(), r.verdict())
	}
	return out.Flush()
}

// number has the digits that mean something.
func number(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 1:
		return fmt.Sprintf("%.2f", f)
	case f == 0:
		return "0"
	}
	return fmt.Sprintf("%.4f", f)
}

func printJSON(w io.Writer, results []result) error {
	type judged struct {
		result
		Verdict string `json:"verdict,omitempty"`
	}
	list := []judged{}
	for _, r := range results {
		list = append(list, judged{r, r.verdict()})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(list)
}
