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

// next is the next message, or io.EOF when there is none.
type next func(context.Context) (string, error)

// replay is a conversation that was written down beforehand: the state that it
// starts with, and what the user says.
type replay struct {
	State   map[string]json.RawMessage `json:"state"`
	Queries []string                   `json:"queries"`
}

// readReplay reads JSON, or a text with one message a line.
func readReplay(file string) (*replay, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the user's own, and the user says which
	if err != nil {
		return nil, err
	}
	r := &replay{}
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
	r = &replay{}
	for line := range bytes.Lines(text) {
		if message := strings.TrimSpace(string(line)); message != "" {
			r.Queries = append(r.Queries, message)
		}
	}
	return r, nil
}

// next takes the messages in order.
func (r *replay) next(context.Context) (string, error) {
	if len(r.Queries) == 0 {
		return "", io.EOF
	}
	message := r.Queries[0]
	r.Queries = r.Queries[1:]
	return message, nil
}

// lines reads messages from in, one a line, and takes those that come by the
// other way meanwhile. A read cannot be interrupted, so it happens beside; the one
// that is under way when ctx ends is left behind.
func lines(ctx context.Context, in io.Reader, other <-chan string) next {
	type line struct {
		text string
		err  error
	}
	read := make(chan line)
	go func() {
		for buffered := bufio.NewReader(in); ; {
			text, err := buffered.ReadString('\n')
			if errors.Is(err, io.EOF) && text != "" {
				err = nil // the last line; the end comes again
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
	return func(ctx context.Context) (string, error) {
		select {
		case one := <-read:
			return one.text, one.err
		case text := <-other:
			return text, nil
		case <-ctx.Done():
			return "", io.EOF // interrupted between two turns: nothing is lost
		}
	}
}
