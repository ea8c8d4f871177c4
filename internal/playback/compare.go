package playback

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/tool"
)

// maxDifferences is how many differences of one call or event are told.
const maxDifferences = 20

// compareRequests compares a request to a model with a recorded one.
func compareRequests(s *replay.Step, name string, now *replay.Request) (list []replay.Difference) {
	was := s.Request
	if was == nil {
		return nil // nothing is known
	}
	if s.Name != name {
		list = append(list, replay.Difference{Path: "model", Recorded: text(s.Name), Now: text(name)})
	}
	if was.Instruction != now.Instruction {
		list = append(list, replay.Difference{Path: "instruction", Recorded: text(was.Instruction), Now: text(now.Instruction)})
	}
	list = append(list, compareDocuments("tools", was.Tools, now.Tools)...)
	list = append(list, compareDocuments("config", was.Config, now.Config)...)
	if was.Contents != now.Contents {
		list = append(list, replay.Difference{Path: "contents.length", Recorded: number(was.Contents), Now: number(now.Contents)})
	}
	if len(was.Added) != len(now.Added) {
		return list // the differences of events say why
	}
	for i := range was.Added {
		at := fmt.Sprintf("contents[%d]", was.Contents-len(was.Added)+i)
		list = append(list, compareDocuments(at, was.Added[i], now.Added[i])...)
	}
	return list
}

func text(s string) json.RawMessage {
	doc, _ := json.Marshal(s) //nolint:errchkjson // it is a string
	return doc
}

func number(n int) json.RawMessage { return fmt.Append(nil, n) }

// compareDocuments compares two JSON documents, without the ids in them.
func compareDocuments(path string, was, now json.RawMessage) (list []replay.Difference) {
	if bytes.Equal(was, now) {
		return nil
	}
	var a, b any
	if decode(was, &a) != nil || decode(now, &b) != nil {
		return []replay.Difference{{Path: path, Recorded: was, Now: now}}
	}
	compareValues(path, withoutIDs(a), withoutIDs(b), &list)
	return list
}

func decode(doc json.RawMessage, into *any) error {
	if len(doc) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	return d.Decode(into)
}

// withoutIDs removes what differs between any two runs: ids of calls, and what asks a
// user to log in, which has a secret state.
func withoutIDs(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range []string{"functionCall", "functionResponse", "originalFunctionCall"} {
			if call, ok := v[member].(map[string]any); ok {
				delete(call, "id")
				if name, _ := call["name"].(string); tool.IsCredentialCall(name) {
					delete(call, "args")
				}
			}
		}
		for _, asked := range []string{"requestedAuthConfigs", "requestedToolConfirmations"} {
			if calls, ok := v[asked].(map[string]any); ok {
				v[asked] = len(calls)
			}
		}
		for name, value := range v {
			v[name] = withoutIDs(value)
		}
	case []any:
		for i := range v {
			v[i] = withoutIDs(v[i])
		}
	}
	return v
}

// compareValues adds the differences of two decoded values to list.
func compareValues(path string, was, now any, list *[]replay.Difference) {
	if len(*list) >= maxDifferences || reflect.DeepEqual(was, now) {
		return
	}
	switch a := was.(type) {
	case map[string]any:
		if b, ok := now.(map[string]any); ok {
			all := maps.Clone(a)
			maps.Copy(all, b)
			for _, name := range slices.Sorted(maps.Keys(all)) {
				compareValues(strings.TrimPrefix(path+"."+name, "."), a[name], b[name], list)
			}
			return
		}
	case []any:
		if b, ok := now.([]any); ok && len(a) == len(b) {
			for i := range a {
				compareValues(fmt.Sprintf("%s[%d]", path, i), a[i], b[i], list)
			}
			return
		}
	}
	*list = append(*list, replay.Difference{Path: path, Recorded: value(was), Now: value(now)})
}

func value(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return doc
}

// compareEvents compares the events of two runs. Agents in different branches run at
// the same time, so only the order of each one's events counts.
func compareEvents(was, now []*event.Event) (list []replay.Compared) {
	type speaker struct{ author, branch string }
	queues := map[speaker][]*event.Event{}
	for _, ev := range now {
		at := speaker{ev.Author, ev.Branch}
		queues[at] = append(queues[at], ev)
	}
	for _, ev := range was {
		at := speaker{ev.Author, ev.Branch}
		one := replay.Compared{Author: ev.Author, Branch: ev.Branch, Recorded: ev.ID}
		if queue := queues[at]; len(queue) > 0 {
			one.Now, queues[at] = queue[0].ID, queue[1:]
			one.Differences = compareDocuments("", essence(ev), essence(queue[0]))
		} else {
			one.Differences = []replay.Difference{{Path: "event", Recorded: essence(ev)}}
		}
		list = append(list, one)
	}
	for _, ev := range now { // in their order
		at := speaker{ev.Author, ev.Branch}
		if queue := queues[at]; len(queue) > 0 && queue[0] == ev {
			queues[at] = queue[1:]
			list = append(list, replay.Compared{Author: ev.Author, Branch: ev.Branch, Now: ev.ID, Differences: []replay.Difference{{Path: "event", Now: essence(ev)}}})
		}
	}
	return list
}

// essence is an event without what differs between any two runs.
func essence(ev *event.Event) json.RawMessage {
	why := ev.ErrorMessage
	if ev.ErrorCode == run.Aborted { // by whom is not a matter of the code
		why = ""
	}
	return encode(&event.Event{
		Author: ev.Author, Branch: ev.Branch, Content: ev.Content, Actions: ev.Actions, ErrorCode: ev.ErrorCode, ErrorMessage: why,
		FinishReason: ev.FinishReason, TurnComplete: ev.TurnComplete, Interrupted: ev.Interrupted,
	})
}
