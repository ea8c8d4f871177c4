package offline

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
)

// transfer is the call that hands the conversation to the agent whose name and
// description fit what the user said, if one fits better than all others.
func transfer(req *model.Request, t turn) *event.FunctionCall {
	at := slices.IndexFunc(req.Tools, func(d model.Declaration) bool { return d.Name == transferTool })
	if at < 0 || t.called[transferTool] {
		return nil
	}
	parameter, agents := transferTargets(req.Tools[at])
	about := descriptions(agents, req.Tools[at].Description+"\n"+req.Instruction)
	said, threshold := significantWords(t.user)
	best, top, tie := "", threshold-1, false
	for _, name := range agents {
		switch s := newLexicon(name, about[name]).score(said); {
		case s > top:
			best, top, tie = name, s, false
		case s == top:
			tie = true
		}
	}
	if best == "" || tie {
		return nil
	}
	return &event.FunctionCall{Name: transferTool, Args: encode(map[string]string{parameter: best})}
}

// transferTargets returns the agents that the conversation can be handed to, and the
// parameter that takes their name.
func transferTargets(d model.Declaration) (parameter string, names []string) {
	for _, p := range readParams(d.Parameters) {
		if p.name != "agent_name" && p.name != "agentName" {
			continue
		}
		for _, v := range p.choices {
			var name string
			if json.Unmarshal(v, &name) == nil && name != "" {
				names = append(names, name)
			}
		}
		return p.name, names
	}
	return "", nil
}

// descriptions finds what a text says of each agent: the rest of a line after
// its name, up to the name of another; the next line, where the name is the
// end of its own.
func descriptions(agents []string, text string) map[string]string {
	about := map[string]string{}
	if len(agents) == 0 {
		return about
	}
	// The longest name first, or "bill" would be found in "bill_payer".
	var patterns []string
	for _, name := range slices.SortedFunc(slices.Values(agents), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		patterns = append(patterns, regexp.QuoteMeta(name))
	}
	mention, err := regexp.Compile(`\b(?:` + strings.Join(patterns, "|") + `)\b`)
	if err != nil { // names of many megabytes
		return about
	}

	var open string // the agent whose description is on the next line
	for line := range strings.Lines(text) {
		found := mention.FindAllStringIndex(line, -1)
		if open != "" {
			end := len(line)
			if len(found) > 0 {
				end = found[0][0]
			}
			about[open] += line[:end]
			open = ""
		}
		for i, m := range found {
			end := len(line)
			if i+1 < len(found) {
				end = found[i+1][0]
			}
			name, rest := line[m[0]:m[1]], line[m[1]:end]
			about[name] += rest
			if i+1 == len(found) && len(words(rest)) == 0 {
				open = name
			}
		}
	}
	return about
}
