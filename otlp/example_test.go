package otlp_test

import (
	"context"
	"log"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model"
	_ "github.com/parley-run/parley/model/gemini" // the model
	_ "github.com/parley-run/parley/otlp"         // exports traces and metrics
)

// Where to export to is in the environment, as OTEL_EXPORTER_OTLP_ENDPOINT.
func Example() {
	greeter := agent.Must(agent.NewLLM(agent.LLMConfig{Name: "greeter", Model: model.Named("gemini-2.5-flash")}))
	srv, err := parley.Open(context.Background(), parley.Config{
		Agents:    map[string]*agent.Agent{"app": greeter},
		Telemetry: parley.TelemetryConfig{Content: true}, // also what is said
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(srv.Run(context.Background()))
}
