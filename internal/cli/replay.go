package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// next returns the next message, or io.EOF. A person is shown a prompt.
type next func(ctx context.Context, prompt string) (string, error)

// messages is a recorded conversation: the initial state, and the user's messages.
type messages struct {
	State   map[string]json.RawMessage `json:"state"`
	Queries []string                   `json:"queries"`
}

// readReplay reads JSON, or text with one message per line.
func readReplay(file string) (*messages, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the user's own, and the user says which
	if err != nil {
		return nil, err
	}
	r := &messages{}
	err = json.Unmarshal(text, r)
	switch isJSON := strings.EqualFold(filepath.Ext(file), ".json"); {
	case err == nil && (isJSON || r.Queries != nil):
		return r, nil
	case isJSON:
		if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
			err = errors.New(`it must be like {"state": {}, "queries": ["Hello"]}`)
		}
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r = &messages{}
	for line := range bytes.Lines(text) {
		if message := strings.TrimSpace(string(line)); message != "" {
			r.Queries = append(r.Queries, message)
		}
	}
	return r, nil
}

// next returns the messages in order.
func (r *messages) next(context.Context, string) (string, error) {
	if len(r.Queries) == 0 {
		return "", io.EOF
	}
	message := r.Queries[0]
	r.Queries = r.Queries[1:]
	return message, nil
}

// lines reads messages from in, one per line, and also accepts those of another
// source. It shows prompts in out, unless that is nil, and ends when the user interrupts. A read cannot be interrupted, so another goroutine does it; a read that
// is in progress when ctx ends is abandoned.
func lines(ctx context.Context, in io.Reader, out io.Writer, other <-chan string, interrupts <-chan os.Signal) next {
	read := make(chan line)
	go func() {
		for buffered := bufio.NewReader(in); ; {
			text, err := buffered.ReadString('\n')
			if errors.Is(err, io.EOF) && text != "" {
				err = nil // the last line; the next read returns the end again
			}
			select {
			case read <- line{text, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return func(ctx context.Context, prompt string) (string, error) {
		if out != nil {
			fmt.Fprint(out, prompt)
		}
		select {
		case one := <-read:
			return one.text, one.err
		case text := <-other:
			return text, nil
		case <-interrupts:
			return "", io.EOF
		case <-ctx.Done():
			return "", io.EOF // interrupted between two turns, so nothing is lost
		}
	}
}
