package differential

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// normalizer takes out of transcripts what has no meaning, or what differs from
// one run to the next.
type normalizer struct {
	ids map[string]string // ids that were made, by the order in which they came
}

// scriptOutput is the directory with what the script of a skill has written.
var scriptOutput = regexp.MustCompile(`^/.*/adk_skill_script_output_\w+$`)

var madeID = regexp.MustCompile(`^(adk-[0-9a-f-]{36}|parley-[a-z2-7]{24})$`)

// branchID is the id of a call in a branch.
var branchID = regexp.MustCompile(`@adk-[0-9a-f-]{36}`)

// runPrefix is the run in the id of a call that a node makes.
var runPrefix = regexp.MustCompile(`^e-[a-z2-7]{24}:`)

// named is v with other names for the ids that were made.
func (n *normalizer) named(v any) any {
	return walk(v, func(v any) any {
		id, ok := v.(string)
		if at := runPrefix.FindStringIndex(id); ok && at != nil {
			return id[at[1]:]
		}
		if scriptOutput.MatchString(id) {
			return "adk_skill_script_output"
		}
		if ok && strings.Contains(id, "@adk-") { // a branch
			return branchID.ReplaceAllStringFunc(id, func(at string) string { return "@" + n.name(at[1:]) })
		}
		if !ok || !madeID.MatchString(id) {
			return v
		}
		return n.name(id)
	})
}

func (n *normalizer) name(id string) string {
	if n.ids[id] == "" {
		n.ids[id] = fmt.Sprintf("id%d", len(n.ids)+1)
	}
	return n.ids[id]
}

// walk replaces the values of a document, the inner ones first. Keys that are
// made ids are values, too.
func walk(v any, replace func(any) any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			name, _ := replace(key).(string)
			out[name] = walk(value, replace)
		}
		return replace(out)
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = walk(one, replace)
		}
		return replace(out)
	}
	return replace(v)
}

// event drops what every event has: the server gives ids and times, and says
// that an event is not partial.
func (n *normalizer) event(v any) any {
	ev, ok := v.(map[string]any)
	if !ok {
		return v
	}
	ev = maps.Clone(ev)
	for _, name := range []string{"id", "timestamp", "invocationId", "turnComplete"} {
		delete(ev, name)
	}
	if ev["partial"] == false {
		delete(ev, "partial")
	}
	if meta, ok := ev["customMetadata"].(map[string]any); ok {
		delete(meta, "pieceIndex")
		if meta["a2a:task_id"] != nil {
			n.remote(ev, meta)
		}
	}
	if info, ok := ev["nodeInfo"].(map[string]any); ok {
		return withoutRecord(ev, info)
	}
	return withoutEmpty(ev)
}

// remote drops the messages of the protocol from an event of a remote agent, and what
// is false in it, and gives other names to the ids of the other server.
func (n *normalizer) remote(ev, meta map[string]any) {
	for _, name := range []string{"a2a:request", "a2a:response", "a2a:event_id", "a2a:input_required"} {
		delete(meta, name)
	}
	for _, name := range []string{"a2a:task_id", "a2a:context_id"} {
		if id, ok := meta[name].(string); ok {
			meta[name] = n.name(id)
		}
	}
	if actions, ok := ev["actions"].(map[string]any); ok && actions["escalate"] == false {
		delete(actions, "escalate")
	}
	content, _ := ev["content"].(map[string]any)
	parts, _ := content["parts"].([]any)
	for _, part := range parts {
		if part, ok := part.(map[string]any); ok && part["thought"] == false {
			delete(part, "thought")
		}
	}
}

// withoutRecord drops by what another server continues a workflow: the number of
// the run of a node, its trigger and its end, which @google/adk never sends. nil
// means that the event has nothing else.
func withoutRecord(ev, info map[string]any) any {
	for _, name := range []string{"runId", "trigger", "more", "attemptCount"} {
		delete(info, name)
	}
	if actions, ok := ev["actions"].(map[string]any); ok {
		if route := actions["route"]; route != nil { // where Parley has it
			ev["route"] = route
		}
		delete(actions, "route")
		delete(actions, "endOfAgent")
	}
	if list, ok := ev["route"].([]any); !ok && ev["route"] != nil || len(list) > 0 {
		ev["route"] = fmt.Sprint(ev["route"])
	}
	rest, _ := withoutEmpty(ev).(map[string]any)
	for name := range rest {
		if name != "author" && name != "branch" && name != "nodeInfo" && name != "isolationScope" {
			return rest
		}
	}
	return nil
}

// ownWords are tools of the package that Parley describes in words of its own.
var ownWords = map[string]bool{
	"list_skills": true, "load_skill": true, "load_skill_resource": true, "run_skill_script": true,
	"run_skill_inline_script": true, "search_skills": true,
}

// request drops the form in which schemas and the agent's name are sent: see the
// rules in docs/from-adk.md.
func (n *normalizer) request(v any) any {
	req, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if config, ok := req["config"].(map[string]any); ok {
		if labels, ok := config["labels"].(map[string]any); ok {
			delete(labels, "adk_agent_name")
		}
		for _, name := range []string{"responseSchema", "functions"} {
			config[name] = walk(config[name], schema)
		}
		functions, _ := config["functions"].([]any)
		for i, f := range functions {
			if m, ok := f.(map[string]any); ok && ownWords[fmt.Sprint(m["name"])] {
				functions[i] = walk(f, withoutDescription)
			}
		}
		for _, f := range functions { // one without arguments may have no parameters
			if f, ok := f.(map[string]any); ok && indented(withoutEmpty(f["parameters"])) == "{\n \"type\": \"object\"\n}" {
				delete(f, "parameters")
			}
		}
	}
	return withoutEmpty(req)
}

func withoutDescription(v any) any {
	if m, ok := v.(map[string]any); ok {
		delete(m, "description")
	}
	return v
}

// schema is a part of a schema in the form of JSON Schema.
func schema(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	delete(m, "$schema")
	if m["additionalProperties"] == false {
		delete(m, "additionalProperties")
	}
	if kind, ok := m["type"].(string); ok {
		m["type"] = strings.ToLower(kind)
	}
	return m
}

// withoutEmpty drops members that are empty.
func withoutEmpty(v any) any {
	return walk(v, func(v any) any {
		if m, ok := v.(map[string]any); ok {
			maps.DeleteFunc(m, func(_ string, v any) bool {
				switch v := v.(type) {
				case nil:
					return true
				case map[string]any:
					return len(v) == 0
				case []any:
					return len(v) == 0
				}
				return false
			})
		}
		return v
	})
}

// lineDiff is what differs between two texts, with the line before each
// difference; empty if they are equal.
func lineDiff(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	// common[i][j] is how many lines x[i:] and y[j:] have in common, in order.
	common := make([][]int, len(x)+1)
	for i := range common {
		common[i] = make([]int, len(y)+1)
	}
	for i, one := range slices.Backward(x) {
		for j, other := range slices.Backward(y) {
			if one == other {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out strings.Builder
	last, shown := "", true
	line := func(sign, text string) {
		if !shown {
			out.WriteString("  " + last + "\n")
			shown = true
		}
		out.WriteString(sign + " " + text + "\n")
	}
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			last, shown = x[i], false
			i++
			j++
		case j == len(y) || i < len(x) && common[i+1][j] >= common[i][j+1]:
			line("-", x[i])
			i++
		default:
			line("+", y[j])
			j++
		}
	}
	return out.String()
}
