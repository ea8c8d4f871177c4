package a2a

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/parley-run/parley/internal/wire"
)

// version is a version of the protocol that a client uses.
type version uint8

const (
	v1 version = iota // 1.0
	v0                // 0.3, over JSON-RPC
	// p0 is 0.3 over HTTP+JSON, whose bodies are those of gRPC in JSON: names are as in
	// 1.0, and some members are not.
	p0
)

// The names of the versions.
const (
	version1 = "1.0"
	version0 = "0.3"
)

// state is the state of a task.
type state string

// The states, as version 1.0 writes them.
const (
	submitted     state = "TASK_STATE_SUBMITTED"
	working       state = "TASK_STATE_WORKING"
	completed     state = "TASK_STATE_COMPLETED"
	failed        state = "TASK_STATE_FAILED"
	canceled      state = "TASK_STATE_CANCELED"
	rejected      state = "TASK_STATE_REJECTED"
	inputRequired state = "TASK_STATE_INPUT_REQUIRED"
	authRequired  state = "TASK_STATE_AUTH_REQUIRED"
)

func (s state) terminal() bool {
	return s == completed || s == failed || s == canceled || s == rejected
}

// text returns the state as a version writes it.
func (s state) text(v version) string {
	switch {
	case v == p0 && s == canceled:
		return "TASK_STATE_CANCELLED"
	case v != v0:
		return string(s)
	}
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(string(s), "TASK_STATE_")), "_", "-")
}

// part is a part of a message or an artifact. One of text, raw, url and data is set.
type part struct {
	text        *string
	raw         []byte
	url         string
	data        json.RawMessage
	name, media string
	meta        metadata
}

func textPart(text string) part { return part{text: &text} }

// metadata are the members of an object, in their order.
type metadata []struct {
	name  string
	value json.RawMessage
}

func (m metadata) with(name string, value json.RawMessage) metadata {
	return append(m, struct {
		name  string
		value json.RawMessage
	}{name, value})
}

func (m metadata) text(name, value string) metadata {
	if value == "" {
		return m
	}
	return m.with(name, wire.Quote(nil, value))
}

// message is a message of the user or the agent.
type message struct {
	id, task, context string
	user              bool
	parts             []part
	meta              metadata
}

// status is the status of a task.
type status struct {
	state   state
	message *message
	time    time.Time // zero for none
}

// artifact is an artifact of a task, or a piece of one.
type artifact struct {
	id, name string
	parts    []part
}

// task is a task as clients see it.
type task struct {
	id, context string
	status      status
	artifacts   []*artifact
	history     []*message
	meta        metadata
}

// object appends the members of a JSON object.
type object struct {
	dst []byte
	v   version
}

func (o *object) key(name string) {
	if o.dst[len(o.dst)-1] != '{' {
		o.dst = append(o.dst, ',')
	}
	o.dst = append(append(append(o.dst, '"'), name...), '"', ':')
}

func (o *object) string(name, text string) {
	o.key(name)
	o.dst = wire.Quote(o.dst, text)
}

func (o *object) optional(name, text string) {
	if text != "" {
		o.string(name, text)
	}
}

func (o *object) flag(name string, value bool) {
	if value {
		o.key(name)
		o.dst = append(o.dst, "true"...)
	}
}

// kind writes what the object is, which only version 0.3 has.
func (o *object) kind(name string) {
	if o.v == v0 {
		o.string("kind", name)
	}
}

func (o *object) metadata(m metadata) {
	if len(m) == 0 {
		return
	}
	o.key("metadata")
	o.dst = append(o.dst, '{')
	for _, member := range m {
		if o.dst[len(o.dst)-1] != '{' {
			o.dst = append(o.dst, ',')
		}
		o.dst = append(wire.Quote(o.dst, member.name), ':')
		o.dst = append(o.dst, member.value...)
	}
	o.dst = append(o.dst, '}')
}

func (o *object) parts(name string, parts []part) {
	o.key(name)
	o.dst = append(o.dst, '[')
	for i := range parts {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		o.part(&parts[i])
	}
	o.dst = append(o.dst, ']')
}

func (o *object) part(p *part) {
	o.dst = append(o.dst, '{')
	switch {
	case p.text != nil:
		o.kind("text")
		o.string("text", *p.text)
	case p.data != nil:
		o.kind("data")
		o.key("data")
		if o.v == p0 {
			o.dst = append(o.dst, `{"data":`...)
		}
		if o.v != v1 && p.data[0] != '{' { // it must be an object
			o.dst = append(append(append(o.dst, `{"value":`...), p.data...), '}')
		} else {
			o.dst = append(o.dst, p.data...)
		}
		if o.v == p0 {
			o.dst = append(o.dst, '}')
		}
	case o.v != v1:
		o.kind("file")
		o.key("file")
		o.dst = append(o.dst, '{')
		uri, bytes := "uri", "bytes"
		if o.v == p0 {
			uri, bytes = "fileWithUri", "fileWithBytes"
		}
		if p.url != "" {
			o.string(uri, p.url)
		} else {
			o.base64(bytes, p.raw)
		}
		o.optional("mimeType", p.media)
		o.optional("name", p.name)
		o.dst = append(o.dst, '}')
	case p.url != "":
		o.string("url", p.url)
	default:
		o.base64("raw", p.raw)
	}
	if o.v == v1 {
		o.optional("filename", p.name)
		o.optional("mediaType", p.media)
	}
	o.metadata(p.meta)
	o.dst = append(o.dst, '}')
}

func (o *object) base64(name string, data []byte) {
	o.key(name)
	o.dst = append(o.dst, '"')
	o.dst = base64.StdEncoding.AppendEncode(o.dst, data)
	o.dst = append(o.dst, '"')
}

// role returns the name of a role.
func (v version) role(user bool) string {
	switch {
	case v != v0 && user:
		return "ROLE_USER"
	case v != v0:
		return "ROLE_AGENT"
	case user:
		return "user"
	}
	return "agent"
}

func (o *object) message(m *message) {
	o.dst = append(o.dst, '{')
	o.kind("message")
	o.string("messageId", m.id)
	o.optional("contextId", m.context)
	o.optional("taskId", m.task)
	o.string("role", o.v.role(m.user))
	if o.v == p0 {
		o.parts("content", m.parts)
	} else {
		o.parts("parts", m.parts)
	}
	o.metadata(m.meta)
	o.dst = append(o.dst, '}')
}

func (o *object) status(s *status) {
	o.key("status")
	o.dst = append(o.dst, '{')
	o.string("state", s.state.text(o.v))
	if s.message != nil {
		o.key("message")
		o.message(s.message)
	}
	if !s.time.IsZero() {
		o.string("timestamp", timestamp(s.time))
	}
	o.dst = append(o.dst, '}')
}

// timestamp returns a time as the protocol writes it: in UTC, with milliseconds.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func (o *object) artifact(a *artifact) {
	o.dst = append(o.dst, '{')
	o.string("artifactId", a.id)
	o.optional("name", a.name)
	o.parts("parts", a.parts)
	o.dst = append(o.dst, '}')
}

func (o *object) task(t *task) {
	o.dst = append(o.dst, '{')
	o.kind("task")
	o.string("id", t.id)
	o.string("contextId", t.context)
	o.status(&t.status)
	list(o, "artifacts", t.artifacts, o.artifact)
	list(o, "history", t.history, o.message)
	o.metadata(t.meta)
	o.dst = append(o.dst, '}')
}

// list writes a list, unless it is empty.
func list[T any](o *object, name string, items []T, write func(T)) {
	if len(items) == 0 {
		return
	}
	o.key(name)
	o.dst = append(o.dst, '[')
	for i, item := range items {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		write(item)
	}
	o.dst = append(o.dst, ']')
}

// result appends what a request returns or a stream has. Objects without a kind are
// named by it.
func result(dst []byte, v version, name string, write func(*object)) []byte {
	o := &object{dst: dst, v: v}
	if v == v0 {
		write(o)
		return o.dst
	}
	o.dst = append(o.dst, '{')
	o.key(name)
	write(o)
	return append(o.dst, '}')
}

// taskResult appends a task.
func taskResult(dst []byte, v version, t *task) []byte {
	return result(dst, v, "task", func(o *object) { o.task(t) })
}

// statusResult appends an update of the status of a task. final is true for the last
// one of a stream.
func statusResult(dst []byte, v version, id, context string, s *status, final bool, meta metadata) []byte {
	return result(dst, v, "statusUpdate", func(o *object) {
		o.dst = append(o.dst, '{')
		o.kind("status-update")
		o.string("taskId", id)
		o.string("contextId", context)
		o.status(s)
		if o.v != v1 {
			o.key("final")
			o.dst = append(o.dst, map[bool]string{true: "true", false: "false"}[final]...)
		}
		o.metadata(meta)
		o.dst = append(o.dst, '}')
	})
}

// artifactResult appends a piece of an artifact.
func artifactResult(dst []byte, v version, id, context string, u *update, meta metadata) []byte {
	return result(dst, v, "artifactUpdate", func(o *object) {
		o.dst = append(o.dst, '{')
		o.kind("artifact-update")
		o.string("taskId", id)
		o.string("contextId", context)
		o.key("artifact")
		o.artifact(u.artifact)
		o.flag("append", u.add)
		o.flag("lastChunk", u.last)
		o.metadata(meta)
		o.dst = append(o.dst, '}')
	})
}
