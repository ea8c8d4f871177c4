//go:build unix

package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/testkit/hostile"
	"github.com/parley-run/parley/internal/testkit/leak"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(processEnv); name != "" {
		beProcess(name)
		return
	}
	log.SetOutput(io.Discard) // where an SDK writes what it also returns
	leak.Main(m)
}

const (
	// limit is that of the tests.
	limit = 1 << 20
	// mostSent is how much a server may send: what is read, and what waits
	// in the buffers of a connection.
	mostSent = 12 << 20
	// mostMemory is how much memory may be allocated to read an answer of that
	// limit, all in all, with that of the server in the same process.
	mostMemory = 96 << 20
)

// adapter is something that calls other servers.
type adapter struct {
	name string
	// process means that the server is one, and stream that it is to answer with
	// server-sent events.
	process, stream bool
	// follows means that redirects are followed.
	follows bool
	// timeout means that only the time ends a call, which no test waits for.
	timeout bool
	// calls means that answers may have calls of tools.
	calls bool
	// more is how many bytes more than the limit of the tests are read.
	more int64
	// prepare starts a server, and returns what calls it.
	prepare func(t *testing.T, m hostile.Misbehaviour) (server, func(context.Context) error)
}

type server interface {
	Sent() int64
	Reached() <-chan struct{}
}

// TestMisbehaviour has everything that calls other servers call one that
// misbehaves, in each of the ways. The call ends, by itself or when it is
// cancelled, and neither the bytes that the server could send nor the memory
// that they took are more than the limit allows.
func TestMisbehaviour(t *testing.T) {
	for _, a := range slices.Concat(models(), tools(), logins()) {
		t.Run(a.name, func(t *testing.T) {
			for _, m := range hostile.All {
				if m.HTTP && a.process || m.Stream && !a.stream || m.Calls && !a.calls || m.Hangs && a.timeout {
					continue
				}
				t.Run(m.Name, func(t *testing.T) { misbehave(t, a, m) })
			}
		})
	}
}

func misbehave(t *testing.T, a adapter, m hostile.Misbehaviour) {
	t.Helper()
	srv, call := a.prepare(t, m)
	limits, memory := bounded.Limits{ModelResponse: limit, ToolResult: limit}, uint64(mostMemory+3*a.more)
	if m.Calls { // of which there may be too many before they are too many bytes
		limits.ModelResponse, memory = 32*limit, 4*mostMemory
	}
	ctx, cancel := context.WithCancel(bounded.With(t.Context(), &limits))
	defer cancel()
	if m.Hangs {
		go func() {
			select {
			case <-srv.Reached():
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := call(ctx) // a call that does not end is one that fails the test
	runtime.ReadMemStats(&after)
	if err == nil && !m.Harmless && (!m.Redirects || !a.follows) {
		t.Error("it is taken for an answer")
	}
	if sent := srv.Sent(); sent > mostSent+a.more {
		t.Errorf("the server could send %d bytes", sent)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > memory {
		t.Errorf("%d bytes of memory were allocated", took)
	}
	if s, ok := srv.(*hostile.Server); ok && !a.follows && s.Called.Load() > 0 {
		t.Error("a private address was called")
	}
	if err != nil && len(err.Error()) > 4<<10 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
	if testing.Verbose() {
		t.Logf("sent %d, allocated %d, %.300v", srv.Sent(), after.TotalAlloc-before.TotalAlloc, err)
	}
}

// TestCancel has callers without a limit leave in the middle of an answer that
// does not end. The server notices, and does not send the rest.
func TestCancel(t *testing.T) {
	for _, a := range models() {
		for _, m := range hostile.All[:3] {
			if m.Stream && !a.stream {
				continue
			}
			t.Run(a.name+"/"+m.Name, func(t *testing.T) {
				srv, call := a.prepare(t, m)
				ctx, cancel := context.WithCancel(bounded.With(t.Context(), &bounded.Limits{ModelResponse: 1 << 40}))
				defer cancel()
				go func() {
					<-srv.Reached()
					cancel()
				}()
				if err := call(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("it ends with %v", err)
				}
				if sent := srv.Sent(); sent >= hostile.Most {
					t.Errorf("the server could send %d bytes", sent)
				}
			})
		}
	}
}

// everything misbehaves at every request.
func everything(s hostile.Speech) func(http.ResponseWriter, *http.Request) (hostile.Speech, bool) {
	return func(http.ResponseWriter, *http.Request) (hostile.Speech, bool) { return s, true }
}

// failed is the error in the result of a tool, if it is one.
func failed(result any, err error) error {
	if err != nil {
		return err
	}
	if text := fmt.Sprintf("%s", result); strings.HasPrefix(text, `{"status":"error"`) {
		return errors.New(text)
	}
	return nil
}
