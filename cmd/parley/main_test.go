package main

import (
	"bufio"
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parley-run/parley/internal/testkit/sessionservice"
)

func TestMain(m *testing.M) {
	// The race detector makes the JavaScript engine slower than its limits of
	// time allow: what the tests start is then built without it.
	if racing {
		os.Exit(withPlainBuild(m))
	}
	testscript.Main(m, map[string]func(){"parley": main})
}

// withPlainBuild runs the tests with a parley in the PATH that was built as
// users have it.
func withPlainBuild(m *testing.M) int {
	dir, err := os.MkdirTemp("", "parley")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if out, err := exec.Command("go", "build", "-o", dir+string(filepath.Separator), ".").CombinedOutput(); err != nil {
		log.Fatalf("%v: %s", err, out)
	}
	os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return m.Run()
}

// The scripts see the command as a user does: as a process.
func TestScripts(t *testing.T) {
	sessions := sessionservice.New(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": serve, "interrupt": interrupt, "http": request,
		},
		Setup: func(env *testscript.Env) error {
			env.Values[serverKey{}] = &server{}
			env.Setenv("SESSIONS", sessions.StoreURL())
			return nil
		},
	})
}

// The first signal lets runs end, which takes a while; the second one does not
// wait for them.
func TestSecondInterruptEndsAtOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no interrupt to send")
	}
	cmd := exec.Command("parley", "api_server", "--port=0", "--offline", "testdata/waiter")
	cmd.Stderr = t.Output()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	url := ""
	for lines := bufio.NewScanner(stdout); !strings.HasPrefix(url, "http://"); url = lines.Text() {
		if !lines.Scan() {
			t.Fatal("the server says nothing")
		}
	}
	post := func(path, body string) io.Closer {
		resp, err := http.Post(url+path, "application/json", strings.NewReader(body))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		return resp.Body
	}
	post("/apps/waiter/users/u/sessions/s", "").Close()
	defer post("/run_sse", `{"appName":"waiter","userId":"u","sessionId":"s","newMessage":{"parts":[{"text":"wait forever"}]}}`).Close()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	// The first signal has been handled when the server has stopped listening;
	// until then, a second one could be merged with the first.
	for {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			break
		}
		conn.Close()
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		t.Errorf("%v, want death by the signal", err)
	}
}

type serverKey struct{}

// server is a parley api_server that runs beside a script.
type server struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
	said   strings.Builder
}

// serve starts a server with the given arguments, and waits until it has said
// where it listens: $URL, and $PORT of it.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! serve")
	}
	s := ts.Value(serverKey{}).(*server)
	*s = server{}
	// Where the tests run, parley is in the PATH.
	s.cmd = exec.Command("parley", append([]string{"api_server"}, args...)...)
	s.cmd.Dir = ts.MkAbs(".")
	s.cmd.Env = append(os.Environ(), "PORT=http") // which is none of its business
	for _, name := range []string{"AGENT_DIR", "APP_NAME", "LOG_FORMAT", "LOG_LEVEL", "OFFLINE", "PORT"} {
		s.cmd.Env = append(s.cmd.Env, "PARLEY_"+name+"="+ts.Getenv("PARLEY_"+name))
	}
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(s.cmd.Start())
	ts.Defer(func() { _ = s.cmd.Process.Kill() })
	s.stdout = bufio.NewReader(out)
	for {
		line, err := s.stdout.ReadString('\n')
		s.said.WriteString(line)
		if err != nil {
			_ = s.cmd.Wait()
			ts.Fatalf("the server did not start: it said %q and %q", s.said.String(), s.stderr.String())
		}
		if url, _, ok := strings.Cut(line, "\n"); ok && strings.HasPrefix(url, "http://") {
			ts.Setenv("URL", url)
			ts.Setenv("PORT", url[strings.LastIndex(url, ":")+1:])
			return
		}
	}
}

// interrupt ends the server as Ctrl-C does. What it said is its output.
func interrupt(ts *testscript.TestScript, neg bool, _ []string) {
	s := ts.Value(serverKey{}).(*server)
	ts.Check(s.cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(s.stdout)
	ts.Check(err)
	err = s.cmd.Wait()
	_, _ = io.WriteString(ts.Stdout(), s.said.String()+string(rest))
	_, _ = ts.Stderr().Write(s.stderr.Bytes())
	if (err != nil) != neg {
		ts.Fatalf("the server ended with %v, and said %s", err, s.stderr.String())
	}
}

// request sends a request: a method, an address and, if there is one, a body,
// with the headers in $HOST and $ORIGIN. The answer is its output; it fails when
// the status is not 200.
func request(ts *testscript.TestScript, neg bool, args []string) {
	req, err := http.NewRequest(args[0], args[1], strings.NewReader(strings.Join(args[2:], " ")))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	req.Host = ts.Getenv("HOST")
	if origin := ts.Getenv("ORIGIN"); origin != "" {
		req.Header.Set("Origin", origin)
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
	if (resp.StatusCode != http.StatusOK) != neg {
		ts.Fatalf("status %d", resp.StatusCode)
	}
}
