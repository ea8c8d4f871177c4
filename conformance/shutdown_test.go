package conformance

import (
	"context"
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
)

// A server that is told to stop takes no more requests, lets the stream that is
// in progress end, and returns without an error.
func TestC79_Shutdown(t *testing.T) {
	t.Parallel()
	fixture := testkit.NewFixture()
	srv, err := parley.Open(t.Context(), parley.Config{Agents: fixture.Apps(), Log: slog.New(slog.DiscardHandler), Stdout: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, listener) }()

	address := listener.Addr().String()
	s := &talk{testkit.NewClient(t, "http://"+address), "weather", "u", "s1"}
	s.create(t, nil)
	stream := s.stream(t, s.request("slow gate"))
	wantBrief(t, []Event{next(t, stream)}, "weather_agent: wait_for?")
	stop()
	testkit.Eventually(t, "the listener to close", func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	fixture.Open("gate")
	wantBrief(t, rest(t, stream), "weather_agent: wait_for!", `weather_agent: wait_for returned {"status":"success"}`)
	if err := <-served; err != nil {
		t.Errorf("served: %v", err)
	}
}
