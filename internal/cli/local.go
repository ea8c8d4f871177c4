package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
)

// local sends requests to a server in the same process.
type local struct{ handler http.Handler }

// call sends a request, with a body unless it is nil, and returns the body of the
// response. A status other than 200 is an error with the server's message.
func (l *local) call(ctx context.Context, method, path string, body any) ([]byte, error) {
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, path, &sent)
	if err != nil {
		return nil, err
	}
	got := &answer{status: http.StatusOK, header: http.Header{}}
	l.handler.ServeHTTP(got, req)
	if got.status == http.StatusOK {
		return got.Bytes(), nil
	}
	var problem struct{ Error string }
	if json.Unmarshal(got.Bytes(), &problem) != nil || problem.Error == "" {
		return nil, fmt.Errorf("%s %s: status %d", method, path, got.status)
	}
	return nil, errors.New(problem.Error)
}

func (l *local) get(ctx context.Context, path string, into any) error {
	body, err := l.call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// answer records a response.
type answer struct {
	bytes.Buffer
	status int
	header http.Header
}

func (a *answer) Header() http.Header    { return a.header }
func (a *answer) WriteHeader(status int) { a.status = status }

// save writes a session to a file that only the user may read.
func save(ctx context.Context, env *Env, server *local, path, file string) error {
	// The session is also worth saving if the conversation was interrupted.
	body, err := server.call(context.WithoutCancel(ctx), http.MethodGet, path, nil)
	if err != nil {
		return fmt.Errorf("save the session: %w", err)
	}
	var text bytes.Buffer
	if err := json.Indent(&text, body, "", "  "); err != nil {
		return fmt.Errorf("save the session: %w", err)
	}
	text.WriteByte('\n')
	if err := os.WriteFile(env.path(file), text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("save the session: %w", err)
	}
	fmt.Fprintf(env.Stdout, "Session saved to %s\n", file)
	return nil
}
