package host

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/internal/testkit/hostile"
)

// The body of a response is in the engine's memory, whose limit bounds it: no
// server can send much more than fits there, and every call ends.
func TestFetchFromHostileServers(t *testing.T) {
	limits := engine.Limits{Memory: 32 << 20, Turn: time.Minute, Call: 2 * time.Minute}
	const buffered = 12 << 20 // in the buffers of a connection
	for _, m := range hostile.All {
		if m.Calls {
			continue // which only models make
		}
		t.Run(m.Name, func(t *testing.T) {
			srv := hostile.Start(t, m, func(http.ResponseWriter, *http.Request) (hostile.Speech, bool) { return hostile.JSON(nil), true })
			s := newLimitedSandbox(t, Options{Env: map[string]string{"AT": srv.URL}}, limits, "", `
				return (await (await fetch(process.env.AT)).text()).length;`)
			ctx, cancel := context.WithCancel(t.Context())
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
			_, err := s.run(ctx, nil) // a call that does not end fails the test
			if sent := srv.Sent(); sent > limits.Memory+buffered {
				t.Errorf("the server could send %d bytes; the call ended with %v", sent, err)
			}
			t.Logf("sent %d bytes, %.200v", srv.Sent(), err)
		})
	}
}
