package parley_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// The test binary is also the server that the tests of signals start, so that
// they see a real process end.
func TestMain(m *testing.M) {
	if os.Getenv("PARLEY_TEST_SERVER") == "1" {
		os.Exit(serve())
	}
	pgtest.Main(m)
}

func serve() int {
	if long, err := time.ParseDuration(os.Getenv("PARLEY_TEST_GRACE")); err == nil {
		parley.SetGrace(long)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	srv, err := parley.Open(context.Background(), parley.Config{Agents: agents(scripted.Func(scripted.Wait(nil, scripted.Say("never")))), Log: log})
	if err == nil {
		err = srv.Run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func agents(m *scripted.Model) map[string]*agent.Agent {
	root, err := agent.NewLLM(agent.LLMConfig{Name: "echo", Model: m})
	if err != nil {
		panic(err)
	}
	return map[string]*agent.Agent{"app": root}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	child := agents(scripted.New())["app"]
	if _, err := agent.NewSequential(agent.Config{Name: "parent", SubAgents: []*agent.Agent{child}}); err != nil {
		t.Fatal(err)
	}
	ok := agents(scripted.New())
	for want, cfg := range map[string]parley.Config{
		"nothing to serve":               {},
		"Scripts.Dir":                    {Agents: ok, Scripts: parley.ScriptConfig{Dir: "does-not-exist"}},
		"Scripts.AllowHosts":             {Agents: ok, Scripts: parley.ScriptConfig{Dir: "testdata", AllowHosts: []string{"a b"}}},
		"Sessions.URL":                   {Agents: ok, Sessions: parley.SessionConfig{URL: "mysql://x"}},
		"it needs UI.Enabled":            {Agents: ok, UI: parley.UIConfig{Dir: "."}},
		"has no index.html":              {Agents: ok, UI: parley.UIConfig{Enabled: true, Dir: "api"}},
		"not a port":                     {Agents: ok, Network: parley.NetworkConfig{Port: 70000}},
		"and no path":                    {Agents: ok, Network: parley.NetworkConfig{PeerAddr: "http://10.0.0.7/path"}},
		"has no port":                    {Agents: ok, Network: parley.NetworkConfig{Host: "127.0.0.1", PeerAddr: "10.0.0.7"}},
		"Logins.Timeout":                 {Agents: ok, Logins: parley.LoginConfig{Timeout: -1}},
		"other machines can reach":       {Agents: ok, Network: parley.NetworkConfig{Host: "0.0.0.0"}},
		"is none of":                     {Agents: ok, Access: parley.AccessConfig{Mode: "x"}},
		"must not be negative":           {Agents: ok, Limits: parley.Limits{ModelCalls: -1}},
		"is nil":                         {Agents: map[string]*agent.Agent{"x": nil}},
		"must not be empty":              {Agents: map[string]*agent.Agent{"": ok["app"]}},
		"an application starts with a r": {Agents: map[string]*agent.Agent{"x": child}},
	} {
		if _, err := parley.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestStream(t *testing.T) {
	srv, err := parley.Open(t.Context(), parley.Config{Agents: agents(scripted.New(scripted.Say("Hello there."), scripted.Fail(errors.New("boom")), scripted.Say("Again.")))})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	req := parley.Request{App: "app", User: "u", Session: "s", Message: event.Text(event.RoleUser, "hi"), Stream: true}
	var got []string
	for ev, err := range srv.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(ev.Content.Text(), ev.Partial))
	}
	if want := "[Hello true there.true Hello there.false]"; fmt.Sprint(got) != want {
		t.Errorf("events %v, want %s", got, want)
	}
	for _, err := range srv.Stream(t.Context(), req) {
		if err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("error %v", err)
		}
	}
	for range srv.Stream(t.Context(), req) {
		break // a reader may leave
	}
	for want, bad := range map[string]parley.Request{
		"application not found": {App: "none", User: "u", Session: "s", Message: req.Message},
		"newMessage":            {App: "app", User: "u", Session: "s"},
	} {
		for _, err := range srv.Stream(t.Context(), bad) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		}
	}
}

// A session that is busy is treated as the settings say.
func TestStreamOfABusySession(t *testing.T) {
	begun, gate := make(chan struct{}), make(chan struct{})
	slow := tool.Must(tool.New(tool.Declaration{Name: "slow"}, func(*tool.Context, struct{}) (string, error) {
		close(begun)
		<-gate
		return "done", nil
	}))
	root, err := agent.NewLLM(agent.LLMConfig{Name: "busy", Tools: []tool.Tool{slow}, Model: scripted.New(scripted.Call("slow", nil), scripted.Say("Done."))})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"app": root}, Sessions: parley.SessionConfig{OnBusy: "reject"}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	req := parley.Request{App: "app", User: "u", Session: "s", Message: event.Text(event.RoleUser, "hi")}
	ended := make(chan error, 1)
	go func() {
		var last error
		for _, err := range srv.Stream(t.Context(), req) {
			last = err
		}
		ended <- last
	}()
	<-begun
	for _, err := range srv.Stream(t.Context(), req) {
		if err == nil || !strings.Contains(err.Error(), "busy") {
			t.Errorf("error %v", err)
		}
	}
	close(gate)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A server for local programs refuses to listen on an address that other machines
// reach.
func TestServeLocalForOthers(t *testing.T) {
	srv, err := parley.Open(t.Context(), parley.Config{Agents: agents(scripted.New()), Access: parley.AccessConfig{Mode: parley.AccessLocal}, Stdout: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Serve(t.Context(), listener); err == nil || !strings.Contains(err.Error(), "Access is local") {
		t.Errorf("ended with %v", err)
	}
	if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is open: %v", err)
	}
}

func TestServeUntilDone(t *testing.T) {
	srv, err := parley.Open(t.Context(), parley.Config{Agents: agents(scripted.New()), Stdout: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, listener) }()
	get := func(host string) int {
		req, _ := http.NewRequest(http.MethodGet, "http://"+listener.Addr().String()+"/health", nil)
		req.Host = host
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	for host, want := range map[string]int{"": 200, "localhost:8000": 200, "[::1]:1": 200, "evil.example": 403, "127.0.0.1.evil.example": 403} {
		if got := get(host); got != want {
			t.Errorf("host %q: status %d, want %d", host, got, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

// client leaves no connections behind.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// process is a server in a process of its own.
type process struct {
	*exec.Cmd
	base   string
	output *bufio.Scanner
}

func startProcess(t *testing.T, log io.Writer, env ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append([]string{"PARLEY_TEST_SERVER=1"}, env...)...)
	cmd.Stderr = io.MultiWriter(log, t.Output())
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	p := &process{Cmd: cmd, output: bufio.NewScanner(stdout)}
	if !p.output.Scan() {
		t.Fatal("the server says nothing")
	}
	port, ok := strings.CutPrefix(p.output.Text(), "API server started on port ")
	if !ok {
		t.Fatalf("the first line is %q", p.output.Text())
	}
	p.base = "http://127.0.0.1:" + port
	return p
}

// openStream begins a run that never ends by itself.
func (p *process) openStream(t *testing.T) *http.Response {
	t.Helper()
	post := func(path, body string) *http.Response {
		resp, err := client.Post(p.base+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: status %d", path, resp.StatusCode)
		}
		return resp
	}
	post("/apps/app/users/u/sessions/s", "").Body.Close()
	return post("/run_sse", `{"appName":"app","userId":"u","sessionId":"s","newMessage":{"parts":[{"text":"hi"}]}}`)
}

func TestInterruptEndsStreamsAndExitsWithZero(t *testing.T) {
	t.Parallel() // it waits for the grace of the server, of which a busy machine needs the end for the answers
	var processes []*process
	var logs [2]bytes.Buffer
	var streams []*http.Response
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	for i, sig := range signals {
		p := startProcess(t, &logs[i], "PORT=0")
		p.output.Scan()
		if line := p.output.Text(); !strings.Contains(line, "all interfaces") {
			t.Errorf("with PORT set, the server says %q", line)
		}
		stream := p.openStream(t)
		defer stream.Body.Close()
		if err := p.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		processes, streams = append(processes, p), append(streams, stream)
	}
	for i, sig := range signals {
		body, err := io.ReadAll(streams[i].Body)
		if err != nil || !strings.Contains(string(body), `"error":"the server was shut down"`) {
			t.Errorf("%v: the stream ends with %q, %v", sig, body, err)
		}
		if err := processes[i].Wait(); err != nil {
			t.Errorf("%v: %v, want exit status 0", sig, err)
		}
		if !strings.Contains(logs[i].String(), "waiting for runs") {
			t.Errorf("%v: it does not say what it waits for: %s", sig, logs[i].String())
		}
	}
}

func TestSecondInterruptEndsAtOnce(t *testing.T) {
	p := startProcess(t, io.Discard, "PORT=0", "PARLEY_TEST_GRACE=1h")
	defer p.openStream(t).Body.Close()
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	// The first signal has been seen when no new run is taken any more; until
	// then another one would be the same as the first.
	testkit.Eventually(t, "the listener to close", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.base, "http://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err == nil {
		t.Error("exit status 0, want death by the signal")
	}
}

func TestBusyPortIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	srv, err := parley.Open(t.Context(), parley.Config{Agents: agents(scripted.New()), Network: parley.NetworkConfig{Port: listener.Addr().(*net.TCPAddr).Port}, Stdout: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("error %v", err)
	}
	t.Setenv("PORT", "http")
	srv, _ = parley.Open(t.Context(), parley.Config{Agents: agents(scripted.New())})
	if err := srv.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "PORT") {
		t.Errorf("error %v", err)
	}
}
