package event

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/parley-run/parley/internal/passthrough"
	"github.com/parley-run/parley/internal/wire"
)

// The members that are stored and sent without being interpreted.
var (
	extraMembers = passthrough.Event()
	extraActions = passthrough.Actions()
	extraParts   = passthrough.Part()
	extraUsage   = passthrough.Usage()
)

func init() {
	wire.Declare((*Event).read)
	wire.Declare((*Content).read)
	wire.Declare((*Part).read)
}

// UnmarshalJSON decodes an event in either spelling.
func (e *Event) UnmarshalJSON(doc []byte) error {
	*e = Event{}
	return wire.Decode(doc, e.read)
}

// UnmarshalJSON decodes a content in either spelling.
func (c *Content) UnmarshalJSON(doc []byte) error {
	*c = Content{}
	return wire.Decode(doc, c.read)
}

// UnmarshalJSON decodes token counts in either spelling.
func (u *Usage) UnmarshalJSON(doc []byte) error {
	*u = Usage{}
	return wire.Decode(doc, u.read)
}

// UnmarshalJSON decodes a part in either spelling.
func (p *Part) UnmarshalJSON(doc []byte) error {
	*p = Part{}
	return wire.Decode(doc, p.read)
}

func (e *Event) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "id":
			return r.ID(&e.ID)
		case "invocationId":
			return r.ID(&e.InvocationID)
		case "author":
			return r.String(&e.Author)
		case "timestamp":
			return r.Float(&e.Timestamp)
		case "branch":
			return r.String(&e.Branch)
		case "content":
			e.Content = &Content{}
			return e.Content.read(r)
		case "actions":
			return e.Actions.read(r)
		case "longRunningToolIds":
			return r.Strings(&e.LongRunningToolIDs)
		case "partial":
			return r.Bool(&e.Partial)
		case "turnComplete":
			return r.Bool(&e.TurnComplete)
		case "interrupted":
			return r.Bool(&e.Interrupted)
		case "errorCode":
			return r.String(&e.ErrorCode)
		case "errorMessage":
			return r.String(&e.ErrorMessage)
		case "finishReason":
			return r.String(&e.FinishReason)
		case "modelVersion":
			return r.String(&e.ModelVersion)
		case "usageMetadata":
			e.Usage = &Usage{}
			return e.Usage.read(r)
		case "customMetadata":
			return r.RawMap(&e.CustomMetadata)
		}
		return readExtra(r, name, extraMembers, &e.Extra)
	})
}

func (a *Actions) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "stateDelta":
			return r.RawMap(&a.StateDelta)
		case "artifactDelta":
			a.ArtifactDelta = map[string]int64{}
			return r.Members(func(name string) error {
				var v int64
				err := r.Int(&v)
				a.ArtifactDelta[name] = v
				return err
			})
		case "requestedAuthConfigs":
			return r.RawMap(&a.RequestedAuthConfigs)
		case "requestedToolConfirmations":
			return r.RawMap(&a.RequestedToolConfirmations)
		case "stateChanges":
			var doc json.RawMessage
			if err := r.Raw(&doc); err != nil {
				return err
			}
			return json.Unmarshal(doc, &a.StateChanges)
		case "transferToAgent":
			return r.String(&a.TransferToAgent)
		case "rewindBeforeInvocationId":
			return r.String(&a.RewindBeforeInvocationID)
		case "skipSummarization":
			return r.Bool(&a.SkipSummarization)
		case "escalate":
			return r.Bool(&a.Escalate)
		case "endOfAgent":
			return r.Bool(&a.EndOfAgent)
		}
		return readExtra(r, name, extraActions, &a.Extra)
	})
}

func (u *Usage) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "promptTokenCount":
			return r.Int(&u.Prompt)
		case "candidatesTokenCount":
			return r.Int(&u.Candidates)
		case "totalTokenCount":
			return r.Int(&u.Total)
		case "cachedContentTokenCount":
			return r.Int(&u.CachedContent)
		case "thoughtsTokenCount":
			return r.Int(&u.Thoughts)
		case "toolUsePromptTokenCount":
			return r.Int(&u.ToolUsePrompt)
		}
		return readExtra(r, name, extraUsage, &u.Extra)
	})
}

func (c *Content) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "role":
			return r.String(&c.Role)
		case "parts":
			c.Parts = []*Part{}
			return r.Array(func() error {
				if len(c.Parts) == 0 { // most have one part; see BenchmarkRun in package bench
					first := &struct {
						Part
						list [1]*Part
					}{}
					c.Parts = append(first.list[:0], &first.Part)
					return first.read(r)
				}
				p := &Part{}
				c.Parts = append(c.Parts, p)
				return p.read(r)
			})
		}
		return r.Skip()
	})
}

// read rejects a part that does not have exactly one payload.
func (p *Part) read(r *wire.Reader) error {
	payloads := 0
	err := r.Object(func(name string) error {
		switch name {
		case "text":
			payloads++
			return r.String(&p.Text)
		case "functionCall":
			payloads++
			p.FunctionCall = &FunctionCall{}
			return p.FunctionCall.read(r)
		case "functionResponse":
			payloads++
			p.FunctionResponse = &FunctionResponse{}
			return p.FunctionResponse.read(r)
		case "inlineData":
			payloads++
			p.InlineData = &Blob{}
			return p.InlineData.read(r)
		case "fileData":
			payloads++
			p.FileData = &FileData{}
			return p.FileData.read(r)
		case "executableCode":
			payloads++
			p.ExecutableCode = &ExecutableCode{}
			return p.ExecutableCode.read(r)
		case "codeExecutionResult":
			payloads++
			p.CodeExecutionResult = &CodeExecutionResult{}
			return p.CodeExecutionResult.read(r)
		case "thought":
			return r.Bool(&p.Thought)
		case "thoughtSignature":
			return readBytes(r, &p.ThoughtSignature)
		case "toolCall", "toolResponse":
			payloads++
		}
		return readExtra(r, name, extraParts, &p.Extra)
	})
	if err == nil && payloads != 1 {
		return r.Errorf("value_error", "A part needs exactly one payload such as text, functionCall or functionResponse; this one has %d", payloads)
	}
	return err
}

func (f *FunctionCall) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "id":
			return r.ID(&f.ID)
		case "name":
			return r.String(&f.Name)
		case "args":
			return r.RawObject(&f.Args)
		}
		return r.Skip()
	})
}

func (f *FunctionResponse) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "id":
			return r.ID(&f.ID)
		case "name":
			return r.String(&f.Name)
		case "response":
			return readResponse(r, &f.Response)
		case "willContinue":
			return r.Bool(&f.WillContinue)
		}
		return r.Skip()
	})
}

// readResponse decodes an object unchanged. A string that contains a serialized
// object is decoded as that object; every other value is a bare result.
func readResponse(r *wire.Reader, into *json.RawMessage) error {
	if r.Kind() == '"' {
		var s string
		if err := r.String(&s); err != nil {
			return err
		}
		inner := json.RawMessage(strings.TrimSpace(s))
		if bytes.HasPrefix(inner, []byte("{")) {
			if out, err := wire.Compact(nil, inner); err == nil {
				*into = out
				return nil
			}
		}
		*into = append(wire.Quote([]byte(`{"result":`), s), '}')
		return nil
	}
	var v json.RawMessage
	if err := r.Raw(&v); err != nil {
		return err
	}
	if v[0] != '{' {
		v = slices.Concat(json.RawMessage(`{"result":`), v, json.RawMessage(`}`))
	}
	*into = v
	return nil
}

func (b *Blob) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "mimeType":
			return r.String(&b.MIMEType)
		case "data":
			return readBytes(r, &b.Data)
		case "displayName":
			return r.String(&b.DisplayName)
		}
		return r.Skip()
	})
}

func (f *FileData) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "mimeType":
			return r.String(&f.MIMEType)
		case "fileUri":
			return r.String(&f.FileURI)
		case "displayName":
			return r.String(&f.DisplayName)
		}
		return r.Skip()
	})
}

func (c *ExecutableCode) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "id":
			return r.String(&c.ID)
		case "code":
			return r.String(&c.Code)
		case "language":
			return r.String(&c.Language)
		}
		return r.Skip()
	})
}

func (c *CodeExecutionResult) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "id":
			return r.String(&c.ID)
		case "outcome":
			return r.String(&c.Outcome)
		case "output":
			return r.String(&c.Output)
		}
		return r.Skip()
	})
}

// readBytes decodes base64 in the standard and in the URL alphabet, with and
// without padding.
func readBytes(r *wire.Reader, into *[]byte) error {
	var s string
	if err := r.String(&s); err != nil {
		return err
	}
	enc := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		enc = base64.RawURLEncoding
	}
	b, err := enc.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return r.Errorf("base64", "Input should be base64")
	}
	*into = b
	return nil
}

// readExtra keeps a member that Parley passes through, and skips an unknown one.
func readExtra(r *wire.Reader, name string, known []string, into *map[string]json.RawMessage) error {
	if !slices.Contains(known, name) {
		return r.Skip()
	}
	var v json.RawMessage
	if err := r.Raw(&v); err != nil {
		return err
	}
	if *into == nil {
		*into = map[string]json.RawMessage{}
	}
	(*into)[name] = v
	return nil
}
