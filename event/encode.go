package event

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/parley-run/parley/internal/wire"
)

// MarshalJSON encodes the event as the contract defines.
func (e *Event) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil) }

// AppendJSON appends the event's encoding to dst, on one line. It fails only
// if a raw member of the event is not JSON or its timestamp is not a number.
func (e *Event) AppendJSON(dst []byte) ([]byte, error) {
	// It is written by hand because every event of every run is encoded
	// once (BenchmarkEncode); TestEncodeAgreesWithReflection compares it with encoding/json.
	o := object{dst: append(dst, '{')}
	o.string("id", e.ID)
	o.string("invocationId", e.InvocationID)
	o.string("author", e.Author)
	o.key("timestamp")
	o.dst = wire.Number(o.dst, e.Timestamp)
	if math.IsNaN(e.Timestamp) || math.IsInf(e.Timestamp, 0) {
		o.err = fmt.Errorf("timestamp: %v is not a JSON number", e.Timestamp)
	}
	o.optional("branch", e.Branch)
	if e.Content != nil {
		o.key("content")
		o.content(e.Content)
	}
	o.key("actions")
	o.actions(&e.Actions)
	if e.LongRunningToolIDs != nil || e.Content.hasCalls() {
		o.key("longRunningToolIds")
		o.strings(e.LongRunningToolIDs)
	}
	if e.Partial || e.Content.isAnswer() {
		o.bool("partial", e.Partial)
	}
	o.flag("turnComplete", e.TurnComplete)
	o.flag("interrupted", e.Interrupted)
	o.optional("errorCode", e.ErrorCode)
	o.optional("errorMessage", e.ErrorMessage)
	o.optional("finishReason", e.FinishReason)
	o.optional("modelVersion", e.ModelVersion)
	if e.Usage != nil {
		o.key("usageMetadata")
		o.usage(e.Usage)
	}
	if len(e.CustomMetadata) > 0 {
		o.rawMap("customMetadata", e.CustomMetadata)
	}
	o.extra(extraMembers, e.Extra)
	if o.err != nil {
		return dst, fmt.Errorf("encode event: %w", o.err)
	}
	return append(o.dst, '}'), nil
}

// MarshalJSON encodes the content as the contract defines.
func (c *Content) MarshalJSON() ([]byte, error) {
	var o object
	o.content(c)
	return o.dst, o.err
}

// MarshalJSON encodes the part as the contract defines.
func (p *Part) MarshalJSON() ([]byte, error) {
	var o object
	o.part(p)
	return o.dst, o.err
}

// MarshalJSON encodes the counts as the contract defines.
func (u Usage) MarshalJSON() ([]byte, error) {
	var o object
	o.usage(&u)
	return o.dst, o.err
}

// object appends the members of a JSON object. It keeps the first error.
type object struct {
	dst []byte
	err error
}

func (o *object) key(name string) {
	dst := o.dst
	if dst[len(dst)-1] == '{' {
		dst = append(dst, '"')
	} else {
		dst = append(dst, ',', '"')
	}
	dst = append(dst, name...)
	o.dst = append(dst, '"', ':')
}

func (o *object) string(name, s string) {
	o.key(name)
	o.dst = wire.Quote(o.dst, s)
}

func (o *object) optional(name, s string) {
	if s != "" {
		o.string(name, s)
	}
}

func (o *object) bool(name string, b bool) {
	o.key(name)
	o.dst = strconv.AppendBool(o.dst, b)
}

func (o *object) flag(name string, b bool) {
	if b {
		o.bool(name, true)
	}
}

func (o *object) count(name string, n int64) {
	if n != 0 {
		o.key(name)
		o.dst = strconv.AppendInt(o.dst, n, 10)
	}
}

func (o *object) bytes(name string, b []byte) {
	o.key(name)
	o.dst = append(o.dst, '"')
	o.dst = base64.StdEncoding.AppendEncode(o.dst, b)
	o.dst = append(o.dst, '"')
}

func (o *object) strings(list []string) {
	o.dst = append(o.dst, '[')
	for i, s := range list {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		o.dst = wire.Quote(o.dst, s)
	}
	o.dst = append(o.dst, ']')
}

func (o *object) raw(name string, v json.RawMessage) {
	o.key(name)
	o.value(name, v)
}

// rawObject is like raw for members that are objects by contract.
func (o *object) rawObject(name string, v json.RawMessage) {
	if absent(v) {
		v = json.RawMessage("{}")
	}
	o.raw(name, v)
}

func (o *object) rawMap(name string, m map[string]json.RawMessage) {
	o.key(name)
	o.dst = append(o.dst, '{')
	for _, k := range sortedKeys(m) {
		if o.dst[len(o.dst)-1] != '{' {
			o.dst = append(o.dst, ',')
		}
		o.dst = wire.Quote(o.dst, k)
		o.dst = append(o.dst, ':')
		o.value(k, m[k])
	}
	o.dst = append(o.dst, '}')
}

func (o *object) value(name string, v json.RawMessage) {
	if len(v) == 0 {
		o.dst = append(o.dst, "null"...)
		return
	}
	var err error
	if o.dst, err = wire.Compact(o.dst, v); err != nil && o.err == nil {
		o.err = fmt.Errorf("%s: %w", name, err)
	}
}

func (o *object) extra(names []string, m map[string]json.RawMessage) {
	if len(m) == 0 {
		return
	}
	for _, name := range names {
		if v := m[name]; !absent(v) {
			o.raw(name, v)
		}
	}
}

func (o *object) actions(a *Actions) {
	if a.Empty() { // the common case
		o.dst = append(o.dst, `{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{}}`...)
		return
	}
	o.dst = append(o.dst, '{')
	o.rawMap("stateDelta", a.StateDelta)
	o.key("artifactDelta")
	o.dst = append(o.dst, '{')
	for _, k := range sortedKeys(a.ArtifactDelta) {
		if o.dst[len(o.dst)-1] != '{' {
			o.dst = append(o.dst, ',')
		}
		o.dst = wire.Quote(o.dst, k)
		o.dst = append(o.dst, ':')
		o.dst = strconv.AppendInt(o.dst, a.ArtifactDelta[k], 10)
	}
	o.dst = append(o.dst, '}')
	o.rawMap("requestedAuthConfigs", a.RequestedAuthConfigs)
	if len(a.RequestedToolConfirmations) > 0 {
		o.rawMap("requestedToolConfirmations", a.RequestedToolConfirmations)
	}
	if len(a.StateChanges) > 0 {
		o.stateChanges(a.StateChanges)
	}
	o.optional("transferToAgent", a.TransferToAgent)
	o.optional("rewindBeforeInvocationId", a.RewindBeforeInvocationID)
	o.flag("skipSummarization", a.SkipSummarization)
	o.flag("escalate", a.Escalate)
	o.flag("endOfAgent", a.EndOfAgent)
	o.extra(extraActions, a.Extra)
	o.dst = append(o.dst, '}')
}

// stateChanges occur in events that have not been appended yet: in the journal, and
// in agents in other languages.
func (o *object) stateChanges(changes []StateChange) {
	doc, err := json.Marshal(changes)
	if err != nil && o.err == nil {
		o.err = fmt.Errorf("stateChanges: %w", err)
	}
	o.key("stateChanges")
	o.dst = append(o.dst, doc...)
}

func (o *object) usage(u *Usage) {
	o.dst = append(o.dst, '{')
	o.count("promptTokenCount", u.Prompt)
	o.count("candidatesTokenCount", u.Candidates)
	o.count("totalTokenCount", u.Total)
	o.count("cachedContentTokenCount", u.CachedContent)
	o.count("thoughtsTokenCount", u.Thoughts)
	o.count("toolUsePromptTokenCount", u.ToolUsePrompt)
	o.extra(extraUsage, u.Extra)
	o.dst = append(o.dst, '}')
}

func (o *object) content(c *Content) {
	o.dst = append(o.dst, '{')
	o.optional("role", c.Role)
	o.key("parts")
	o.dst = append(o.dst, '[')
	for i, p := range c.Parts {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		o.part(p)
	}
	o.dst = append(o.dst, ']', '}')
}

func (o *object) part(p *Part) {
	o.dst = append(o.dst, '{')
	switch {
	case p.FunctionCall != nil:
		o.key("functionCall")
		o.dst = append(o.dst, '{')
		o.optional("id", p.FunctionCall.ID)
		o.string("name", p.FunctionCall.Name)
		o.rawObject("args", p.FunctionCall.Args)
		o.dst = append(o.dst, '}')
	case p.FunctionResponse != nil:
		o.key("functionResponse")
		o.dst = append(o.dst, '{')
		o.optional("id", p.FunctionResponse.ID)
		o.string("name", p.FunctionResponse.Name)
		o.rawObject("response", p.FunctionResponse.Response)
		o.flag("willContinue", p.FunctionResponse.WillContinue)
		o.dst = append(o.dst, '}')
	case p.InlineData != nil:
		o.key("inlineData")
		o.dst = append(o.dst, '{')
		o.optional("mimeType", p.InlineData.MIMEType)
		o.bytes("data", p.InlineData.Data)
		o.optional("displayName", p.InlineData.DisplayName)
		o.dst = append(o.dst, '}')
	case p.FileData != nil:
		o.key("fileData")
		o.dst = append(o.dst, '{')
		o.optional("mimeType", p.FileData.MIMEType)
		o.string("fileUri", p.FileData.FileURI)
		o.optional("displayName", p.FileData.DisplayName)
		o.dst = append(o.dst, '}')
	case p.ExecutableCode != nil:
		o.key("executableCode")
		o.dst = append(o.dst, '{')
		o.optional("id", p.ExecutableCode.ID)
		o.string("code", p.ExecutableCode.Code)
		o.optional("language", p.ExecutableCode.Language)
		o.dst = append(o.dst, '}')
	case p.CodeExecutionResult != nil:
		o.key("codeExecutionResult")
		o.dst = append(o.dst, '{')
		o.optional("id", p.CodeExecutionResult.ID)
		o.string("outcome", p.CodeExecutionResult.Outcome)
		o.optional("output", p.CodeExecutionResult.Output)
		o.dst = append(o.dst, '}')
	case p.IsText():
		o.string("text", p.Text)
	}
	o.flag("thought", p.Thought)
	if len(p.ThoughtSignature) > 0 {
		o.bytes("thoughtSignature", p.ThoughtSignature)
	}
	o.extra(extraParts, p.Extra)
	o.dst = append(o.dst, '}')
}

// absent reports whether v represents no value: such members are omitted instead of
// null.
func absent(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// sortedKeys makes the encoding of a map deterministic.
func sortedKeys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}
