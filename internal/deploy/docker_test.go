package deploy

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// server answers requests with a status, or does not answer if it is 0.
type server func() (status int)

func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.String() != "http://127.0.0.1:8000/readyz" {
		return nil, errors.New("unexpected address: " + r.URL.String())
	}
	status := s()
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Request: r}, nil
}

// A deployment ends when its server answers, and says so if it does not.
func TestAwait(t *testing.T) {
	const is = "The server is at http://127.0.0.1:8000, for programs on this machine.\n"
	for _, test := range []struct {
		name, said, err string
		after           time.Duration // the server begins to answer
		status          int
		takes           time.Duration
	}{
		{name: "at once", status: 200, said: is},
		{name: "slow to load", after: 20 * time.Second, status: 200, said: is, takes: 20 * time.Second},
		{name: "for other host names", status: 403, said: is},
		{name: "never", after: time.Hour, err: "the container sky was started, but its server does not answer at http://127.0.0.1:8000 (connection refused): docker logs sky shows why", takes: 30 * time.Second},
		{name: "without its database", status: 503, err: "(the status is 503): docker logs sky shows why", takes: 30 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var out bytes.Buffer
				j := &job{env: &Env{Stdout: &out, Transport: server(func() int {
					if time.Since(begin) < test.after {
						return 0
					}
					return test.status
				})}}
				d := &Docker{Options: Options{ServiceName: "sky", Port: 8000}}
				err := d.await(t.Context(), j)
				if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
					t.Errorf("%v, want %q", err, test.err)
				}
				if took := time.Since(begin); out.String() != test.said || took != test.takes {
					t.Errorf("after %v it says %q", took, out.String())
				}
			})
		})
	}
}

// Who interrupts the command does not wait.
func TestAwaitInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		j := &job{env: &Env{Stdout: &bytes.Buffer{}, Transport: server(func() int { return 0 })}}
		d := &Docker{Options: Options{ServiceName: "sky", Port: 8000}}
		if err := d.await(ctx, j); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}
