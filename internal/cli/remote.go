package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
)

// target is what a command looks at: a server that runs, or a database.
type target struct {
	server, key, database, files string
	app, user                    string
}

const defaultServer = "http://127.0.0.1:8000"

func (t *target) define(flags *pflag.FlagSet) {
	flags.StringVar(&t.server, "server", "", "`url` of a server that runs (default\n"+defaultServer+")")
	flags.StringVar(&t.key, "api_key", "", "API `key` or identity token for the server, if it needs\none; better in the variable PARLEY_API_KEY")
	flags.StringVar(&t.database, "session_db_url", "", "`url` of the database, in place of a server")
	flags.StringVar(&t.files, "artifact_service_uri", "", "`url` of the store of artifacts, with a database (default\nnext to a SQLite file)")
	flags.StringVar(&t.app, "app_name", "", "`name` of the application (default the only one of the\nserver; required with a database)")
	flags.StringVar(&t.user, "user", "user", "`id` of the user")
}

// open connects to the server or, if only a database is named, opens that. A flag comes
// before what the environment or a file says.
func (t *target) open(cmd *cobra.Command, env *Env) (*client, error) {
	server, database := cmd.Flags().Changed("server"), cmd.Flags().Changed("session_db_url")
	if server && database {
		return nil, &usageError{"--server and --session_db_url cannot be combined"}
	}
	if t.user == "" {
		return nil, &usageError{"--user must not be empty"}
	}
	if t.database != "" && (database || t.server == "") {
		return t.openDatabase(cmd.Context(), env)
	}
	base, err := url.Parse(cmp.Or(t.server, defaultServer))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, &usageError{fmt.Sprintf("--server: %q is not like %s", t.server, defaultServer)}
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 30 * time.Second, ResponseHeaderTimeout: 5 * time.Minute, ForceAttemptHTTP2: true,
	}
	c := &client{base: base, key: t.key, user: t.user, app: t.app, http: &http.Client{Transport: transport}, close: transport.CloseIdleConnections}
	if c.app != "" {
		return c, nil
	}
	var apps []string
	if err := c.get(cmd.Context(), &apps, "list-apps"); err != nil {
		return nil, err
	}
	if len(apps) != 1 {
		return nil, &usageError{fmt.Sprintf("--app_name must be given: the server has %d applications: %s", len(apps), printable(strings.Join(apps, ", ")))}
	}
	c.app = apps[0]
	return c, nil
}

// openDatabase opens a database as a server does, and works on no runs.
func (t *target) openDatabase(ctx context.Context, env *Env) (*client, error) {
	if t.app == "" {
		return nil, &usageError{"--app_name must be given: it names the application in the database"}
	}
	if strings.HasPrefix(t.database, "memory:") {
		return nil, &usageError{"--session_db_url: sessions in memory are gone with their server: give --server"}
	}
	idle, err := agent.New(agent.Config{Name: "idle"}, func(*agent.Context, agent.Emit) error {
		return errors.New("no server runs the agent")
	})
	if err != nil {
		return nil, err
	}
	unused := make([]byte, 32) // without it, one is created beside the database
	_, _ = rand.Read(unused)   // it never fails
	cfg := parley.Config{
		Agents: map[string]*agent.Agent{t.app: idle}, Log: env.logger("warn", "text"), Stdout: io.Discard,
		Sessions: parley.SessionConfig{URL: t.database, Passive: true}, Artifacts: parley.ArtifactConfig{URL: t.files},
	}
	cfg.UI.Enabled, cfg.Recording.Share = true, -1 // the routes of developers, which list more
	cfg.Access.Mode, cfg.Logins.Key = parley.AccessLocal, base64.StdEncoding.EncodeToString(unused)
	srv, err := parley.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &client{
		base: &url.URL{Scheme: "http", Host: "127.0.0.1"}, app: t.app, user: t.user, database: true,
		http: &http.Client{Transport: inProcess{srv.Handler()}}, close: func() { srv.Close(context.WithoutCancel(ctx)) },
	}, nil
}

// client sends requests about the sessions of a user.
type client struct {
	base      *url.URL
	key       string
	app, user string
	http      *http.Client
	database  bool // without a server
	close     func()
}

// sessions returns the parts of the path of the user's sessions, or below one.
func (c *client) sessions(below ...string) []string {
	return append([]string{"apps", c.app, "users", c.user, "sessions"}, below...)
}

// do sends a request. A status that is not 2xx is an error with the server's message.
func (c *client) do(ctx context.Context, method string, header http.Header, query url.Values, body io.Reader, parts ...string) (*http.Response, error) {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = url.PathEscape(part)
	}
	to := c.base.JoinPath(escaped...)
	to.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, to.String(), body)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if refused, ok := errors.AsType[*net.OpError](err); ok && refused.Op == "dial" {
			return nil, fmt.Errorf("no server answers at %s: start one with parley web, or give --server or --session_db_url: %w", c.base.Redacted(), refused.Err)
		}
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refusal(resp)
}

// statusError is the answer of a server that refuses a request.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string { return e.message }

// withoutDevelopers reports whether a server refuses a route of developers, which those
// without the developer UI do not have.
func withoutDevelopers(err error) bool {
	refused, ok := errors.AsType[*statusError](err)
	return ok && (refused.status == http.StatusForbidden || refused.status == http.StatusNotFound)
}

func refusal(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what is there is enough
	var problem struct{ Error string }
	message := fmt.Sprintf("the server answers with the status %s", resp.Status)
	if json.Unmarshal(text, &problem) == nil && problem.Error != "" {
		message = printable(problem.Error)
	}
	if resp.StatusCode == http.StatusUnauthorized {
		message += "; set PARLEY_API_KEY or --api_key"
	}
	return &statusError{resp.StatusCode, message}
}

// maxDocument is the size of the largest document that is read: a session.
const maxDocument = 1 << 30

// call sends a document, unless it is nil, and decodes the answer.
func (c *client) call(ctx context.Context, into any, method string, body any, parts ...string) error {
	header, sent := http.Header{}, &bytes.Buffer{}
	if body != nil {
		header.Set("Content-Type", "application/json")
		if err := json.NewEncoder(sent).Encode(body); err != nil {
			return err
		}
	}
	resp, err := c.do(ctx, method, header, nil, sent, parts...)
	if err != nil {
		return err
	}
	return decode(resp, into)
}

func (c *client) get(ctx context.Context, into any, parts ...string) error {
	resp, err := c.do(ctx, http.MethodGet, nil, nil, nil, parts...)
	if err != nil {
		return err
	}
	return decode(resp, into)
}

func decode(resp *http.Response, into any) error {
	defer resp.Body.Close()
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxDocument)).Decode(into); err != nil {
		return fmt.Errorf("the answer of the server cannot be read: is it Parley? %w", err)
	}
	return nil
}

// list reads pages of documents until there are as many as wanted, or no more.
func (c *client) list(ctx context.Context, most int, query url.Values, parts ...string) ([]json.RawMessage, error) {
	list := []json.RawMessage{}
	for {
		query.Set("pageSize", fmt.Sprint(min(most-len(list), 1000)))
		resp, err := c.do(ctx, http.MethodGet, nil, query, nil, parts...)
		if err != nil {
			return nil, err
		}
		next := pageToken(resp.Header)
		var page []json.RawMessage
		if err := decode(resp, &page); err != nil {
			return nil, err
		}
		list = append(list, page...)
		if next == "" || len(list) >= most {
			return list[:min(most, len(list))], nil
		}
		query.Set("pageToken", next)
	}
}

// pageToken returns the token of the next page, or "".
func pageToken(header http.Header) string {
	for _, link := range header.Values("Link") {
		if address, rel, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">"); strings.Contains(rel, `rel="next"`) {
			if u, err := url.Parse(address); err == nil {
				return u.Query().Get("pageToken")
			}
		}
	}
	return ""
}

// inProcess sends requests to a handler of this process.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	body, pipe := io.Pipe()
	w := &piped{Writer: pipe, header: http.Header{}, begun: make(chan int, 1)}
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	go func() {
		ended := io.ErrUnexpectedEOF // of a response that the handler aborts
		defer func() {
			if recover() != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
			_ = pipe.CloseWithError(ended) // it never fails
			_ = r.Body.Close()
		}()
		p.handler.ServeHTTP(w, r)
		w.WriteHeader(http.StatusOK)
		ended = nil
	}()
	select {
	case status := <-w.begun:
		return &http.Response{
			Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: w.sent, Body: body, ContentLength: -1, Request: r,
		}, nil
	case <-r.Context().Done():
		_ = body.Close() // it never fails
		return nil, r.Context().Err()
	}
}

// piped is a response that is read while it is written.
type piped struct {
	io.Writer
	header, sent http.Header
	begun        chan int
}

func (w *piped) Header() http.Header { return w.header }
func (w *piped) Flush()              { w.WriteHeader(http.StatusOK) }

func (w *piped) WriteHeader(status int) {
	if w.sent == nil {
		w.sent = w.header.Clone()
		w.begun <- status
	}
}

func (w *piped) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.Writer.Write(p)
}
