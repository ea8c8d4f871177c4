package node

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/script/engine"
)

// What a process sends is not trusted: it may be anything, of any length.
func TestFramesThatAreNotUnderstood(t *testing.T) {
	t.Parallel()
	frame := func(text string) string {
		return string(binary.LittleEndian.AppendUint32(nil, uint32(len(text)))) + text
	}
	for _, text := range []string{
		"\xff\xff\xff\xff", frame(`[]`), frame(`{}`), frame(`null`), frame(`[1]`), frame(`["nothing"]`), frame(`["host"]`), frame(`["host",1,2]`),
		frame(`["post","ok",1]`), frame(`["post","ok","x","",""]`), frame(`["pong","1"]`), frame(`["idle"]`), frame(`["loaded",{}]`), frame(`["fail"]`), frame(`nonsense`),
	} {
		p := &process{limits: engine.Limits{Memory: 1 << 20}, loaded: make(chan error, 1)}
		parts, err := p.next(bufio.NewReader(strings.NewReader(text)))
		if err == nil {
			err = p.handle(parts)
		}
		if err == nil {
			t.Errorf("%q is understood", text)
		}
	}
}

// A message of many parts takes no more memory than its text.
func TestFramesOfManyParts(t *testing.T) {
	t.Parallel()
	text := `["host","now",""` + strings.Repeat(",0", 100_000) + "]"
	p := &process{limits: engine.Limits{Memory: 1 << 20}}
	parts, err := p.next(bufio.NewReader(strings.NewReader(string(binary.LittleEndian.AppendUint32(nil, uint32(len(text)))) + text)))
	if err != nil || len(parts) > 6 {
		t.Fatalf("it has %d parts, %v", len(parts), err)
	}
	if err := p.handle(parts); err == nil {
		t.Error("it is understood")
	}
}

// What a process has sent before it was ended starts nothing any more.
func TestFramesOfAnEndedProcess(t *testing.T) {
	t.Parallel()
	p := &process{limits: engine.Limits{Memory: 1 << 20}, dead: make(chan struct{}), functions: map[string]engine.Function{
		"f": func(string) (string, error) {
			t.Error("the function was called")
			return "", nil
		},
	}}
	close(p.dead)
	parts, err := p.next(bufio.NewReader(bytes.NewReader(encode([]any{"host", "f", ""}))))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.handle(parts); !errors.Is(err, io.EOF) {
		t.Errorf("it ends with %v", err)
	}
}

func TestFrames(t *testing.T) {
	t.Parallel()
	p := &process{limits: engine.Limits{Memory: 1 << 20}}
	in := bufio.NewReader(bytes.NewReader(encode([]any{"call", int64(1), 2, true, "{\"a\":\"ü\"}", "{}"})))
	parts, err := p.next(in)
	if err != nil {
		t.Fatal(err)
	}
	var (
		kind, params, about string
		id                  int64
		fn                  int
		stream              bool
	)
	if err := fields(parts, &kind, &id, &fn, &stream, &params, &about); err != nil || kind != "call" || id != 1 || fn != 2 || !stream || params != `{"a":"ü"}` || about != "{}" {
		t.Errorf("it is %s, %v", parts, err)
	}
}
