package otlp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model/scripted"
	_ "github.com/parley-run/parley/otlp" // exports traces and metrics
)

// Where to export to is in the environment of the program.
func Example() {
	received := make(chan string, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case received <- r.URL.Path:
		default:
		}
	}))
	defer collector.Close()
	os.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	os.Setenv("OTEL_METRICS_EXPORTER", "none")

	ctx := context.Background()
	greeter := agent.Must(agent.NewLLM(agent.LLMConfig{Name: "greeter", Model: scripted.New(scripted.Say("Hello."))}))
	srv, err := parley.Open(ctx, parley.Config{
		Agents:    map[string]*agent.Agent{"app": greeter},
		Telemetry: parley.TelemetryConfig{Content: true}, // also what is said
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := srv.Ask(ctx, "app", "ann", "first", "Hi"); err != nil {
		log.Fatal(err)
	}
	srv.Close(ctx) // what was not exported yet is
	fmt.Println(<-received)
	// Output: /v1/traces
}
