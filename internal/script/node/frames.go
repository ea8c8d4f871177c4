package node

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/internal/wire"
)

// send queues a frame, unless the process has ended. It never blocks.
func (p *process) send(parts ...any) {
	frame := encode(parts)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enqueue(frame)
}

// enqueue is send with p.mu held.
func (p *process) enqueue(frame []byte) {
	if p.closed {
		return
	}
	p.sent++
	p.queue = append(p.queue, frame)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// encode makes a frame of strings, numbers and booleans.
func encode(parts []any) []byte {
	text, _ := json.Marshal(parts) //nolint:errchkjson // which have no errors
	return append(binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text))), text...)
}

func (p *process) write() {
	for {
		select {
		case <-p.wake:
		case <-p.dead:
			return
		}
		p.mu.Lock()
		frames := p.queue
		p.queue = nil
		p.mu.Unlock()
		if _, err := p.commands.Write(bytes.Join(frames, nil)); err != nil {
			return // it has ended, or has closed its end: it does not answer then
		}
	}
}

// receive handles the frames of the code, one after the other. The code waits for
// the answers of functions, so this must not wait for anything else.
func (p *process) receive() {
	defer close(p.read)
	in := bufio.NewReader(p.frames)
	for {
		frame, err := p.next(in)
		if err == nil {
			err = p.handle(frame)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrClosed), errors.Is(err, io.ErrUnexpectedEOF):
			return
		case err != nil:
			p.End(fmt.Errorf("the application's process of Node.js has sent what is not understood, and was stopped: %w", err))
			return
		}
	}
}

// next reads a frame. It does not believe the length of one before the bytes have
// come.
func (p *process) next(in *bufio.Reader) ([]json.RawMessage, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(head[:]))
	if length > p.limits.Memory {
		return nil, fmt.Errorf("a message of %d bytes", length)
	}
	var text bytes.Buffer
	if _, err := io.CopyN(&text, in, length); err != nil {
		return nil, err
	}
	// A slice would take many times the memory of the text. The decoder discards what
	// an array has no place for; no message has as many parts.
	var parts [6]json.RawMessage
	if err := json.Unmarshal(text.Bytes(), &parts); err != nil {
		return nil, errors.New("a message that is not JSON")
	}
	frame := parts[:]
	if end := slices.IndexFunc(frame, func(part json.RawMessage) bool { return part == nil }); end >= 0 {
		frame = frame[:end]
	}
	return frame, nil
}

// handle handles one frame.
func (p *process) handle(frame []json.RawMessage) error {
	var kind string
	if err := fields(frame[:min(1, len(frame))], &kind); err != nil {
		return err
	}
	rest := frame[1:]
	switch kind {
	case "host":
		var name, payload string
		if err := fields(rest, &name, &payload); err != nil {
			return err
		}
		select {
		case <-p.dead: // no code waits for what the function does
			return io.EOF
		default:
		}
		return p.answer(engine.Dispatch(p.functions, name, payload))
	case "post":
		var (
			how, value, more string
			id               int64
		)
		if err := fields(rest, &how, &id, &value, &more); err != nil {
			return err
		}
		if err := p.post(how, id, value, more); err != nil {
			return p.post("err", id, `{"message":`+string(wire.Quote(nil, err.Error()))+`}`, "")
		}
		return nil
	case "loaded":
		var failure string
		if err := fields(rest, &failure); err != nil {
			return err
		}
		p.ready(failure)
		return nil
	case "idle", "pong":
		var n int64
		if err := fields(rest, &n); err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if kind == "idle" {
			p.idle = n
		} else {
			p.ping.answered(n)
		}
		return nil
	case "fail":
		var text string
		if err := fields(rest, &text); err != nil {
			return err
		}
		p.End(fmt.Errorf("the application %q: %s", p.App, text))
		return nil
	}
	return fmt.Errorf("a message of the kind %q", kind)
}

// fields reads the parts of a frame.
func fields(parts []json.RawMessage, into ...any) error {
	if len(parts) != len(into) {
		return fmt.Errorf("a message with %d parts", len(parts))
	}
	for i, one := range into {
		if err := json.Unmarshal(parts[i], one); err != nil {
			return err
		}
	}
	return nil
}

func (p *process) ready(failure string) {
	var err error
	if failure != "" {
		err = engine.ParseError([]byte(failure))
	}
	select {
	case p.loaded <- err:
		p.mu.Lock()
		p.ran = true
		p.mu.Unlock()
	default: // the code has sent it
	}
}

// answer sends the result of a function.
func (p *process) answer(text string, err error) error {
	status := byte(0)
	if err != nil {
		text, status = err.Error(), 1
	}
	frame := append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), status)
	_, err = p.answers.Write(append(frame, text...))
	if err != nil {
		return io.EOF // it has ended
	}
	return nil
}
