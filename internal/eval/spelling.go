package eval

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parley-run/parley/internal/wire"
)

// shape is what is known of an object: the names of its members, in camelCase,
// and what is known of those. An array is as its elements are.
type shape map[string]shape

var (
	callShape     = shape{"id": nil, "name": nil, "args": nil}
	responseShape = shape{"id": nil, "name": nil, "response": nil, "willContinue": nil, "scheduling": nil}
	partShape     = shape{
		"text": nil, "thought": nil, "thoughtSignature": nil, "functionCall": callShape, "functionResponse": responseShape,
		"inlineData":     {"mimeType": nil, "data": nil, "displayName": nil},
		"fileData":       {"mimeType": nil, "fileUri": nil, "displayName": nil},
		"executableCode": {"id": nil, "code": nil, "language": nil}, "codeExecutionResult": {"id": nil, "outcome": nil, "output": nil},
	}
	rubricShape     = shape{"rubricId": nil, "rubricContent": {"textProperty": nil}, "description": nil, "type": nil}
	contentShape    = shape{"role": nil, "parts": partShape}
	invocationShape = shape{
		"invocationId": nil, "userContent": contentShape, "finalResponse": contentShape, "creationTimestamp": nil,
		"inferenceCallCount": nil, "duration": nil, "rubrics": rubricShape, "appDetails": nil,
		"intermediateData": {
			"toolUses": callShape, "toolResponses": responseShape, "intermediateResponses": partShape,
			"invocationEvents": {"author": nil, "content": contentShape, "groundingMetadata": nil, "usageMetadata": nil, "modelVersion": nil},
		},
	}
	caseShape = shape{
		"evalId": nil, "conversation": invocationShape, "conversationScenario": nil, "creationTimestamp": nil, "rubrics": rubricShape, "finalSessionState": nil,
		"sessionInput": {"appName": nil, "userId": nil, "sessionId": nil, "state": nil},
	}
	setShape = shape{
		"evalSetId": nil, "name": nil, "description": nil, "creationTimestamp": nil, "evalCases": caseShape,
		"modelExecutionMode": nil, "toolExecutionMode": nil,
	}
	metricShape = shape{
		"metricName": nil, "threshold": nil, "score": nil, "evalStatus": nil,
		"criterion": {
			"threshold": nil, "matchType": nil, "ignoreArgs": nil, "rubrics": rubricShape,
			"judgeModelOptions": {"judgeModel": nil, "judgeModelConfig": nil, "numSamples": nil},
		},
		"details": {"rubricScores": {"rubricId": nil, "rationale": nil, "score": nil}},
	}
	usageShape  = shape{"totalTokens": nil, "costUsd": nil, "unpricedTokens": nil, "seconds": nil}
	resultShape = shape{
		"evalSetResultId": nil, "evalSetResultName": nil, "evalSetId": nil, "creationTimestamp": nil, "code": nil, "variantsId": nil,
		"variant": {"model": nil, "instructions": nil, "temperature": nil},
		"evalCaseResults": {
			"evalSetFile": nil, "evalSetId": nil, "evalId": nil, "finalEvalStatus": nil, "evalMetricResults": metricShape, "overallEvalMetricResults": metricShape,
			"evalMetricResultPerInvocation": {"actualInvocation": invocationShape, "expectedInvocation": invocationShape, "evalMetricResults": metricShape},
			"sessionId":                     nil, "userId": nil, "sessionDetails": nil, "errorMessage": nil,
			"usage": usageShape, "judgeUsage": usageShape,
		},
	}
)

// respell writes the names of the members that are known in another spelling, and
// leaves everything else as it is: unknown members, and what belongs to agents,
// such as arguments and state. doc is valid.
func respell(doc []byte, known shape, spell func(string) string) json.RawMessage {
	out := make(json.RawMessage, 0, len(doc))
	dec := jsontext.NewDecoder(bytes.NewReader(doc), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return respellNext(dec, out, known, spell)
}

func respellNext(dec *jsontext.Decoder, out []byte, known shape, spell func(string) string) []byte {
	kind := dec.PeekKind()
	if known == nil || kind != '{' && kind != '[' {
		value, _ := dec.ReadValue() // it is valid
		return append(out, value...)
	}
	_, _ = dec.ReadToken()
	out = append(out, byte(kind))
	for first := true; dec.PeekKind() != '}' && dec.PeekKind() != ']'; {
		if dec.PeekKind() == 0 { // it is not valid after all
			return out
		}
		if kind == '[' {
			out = respellNext(dec, comma(out, &first), known, spell)
			continue
		}
		token, _ := dec.ReadToken()
		name := token.String()
		sub, isKnown := known[wire.Camel(name)]
		if isKnown {
			if name = spell(wire.Camel(name)); dec.PeekKind() == 'n' {
				_, _ = dec.ReadToken() // null is as good as nothing
				continue
			}
		}
		out = append(wire.Quote(comma(out, &first), name), ':')
		out = respellNext(dec, out, sub, spell)
	}
	_, _ = dec.ReadToken()
	return append(out, byte(kind+2)) // the closing bracket
}

func comma(out []byte, first *bool) []byte {
	if !*first {
		out = append(out, ',')
	}
	*first = false
	return out
}

// snake turns camelCase into snake_case, which is how files are written.
func snake(name string) string {
	var b strings.Builder
	for _, c := range name {
		if 'A' <= c && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// object is what is put together of members, in their order.
type object struct{ members []byte }

func (o *object) add(name string, value []byte) {
	if len(value) == 0 {
		return
	}
	if len(o.members) > 0 {
		o.members = append(o.members, ',')
	}
	o.members = append(append(wire.Quote(o.members, name), ':'), value...)
}

// keep adds what comes next.
func (o *object) keep(r *wire.Reader, name string) error {
	var value json.RawMessage
	err := r.Raw(&value)
	o.add(name, value)
	return err
}

func (o *object) json() json.RawMessage {
	return append(append([]byte{'{'}, o.members...), '}')
}
