package telemetry_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model/scripted"
	_ "github.com/parley-run/parley/telemetry" // serves metrics
)

func Example() {
	ctx := context.Background()
	greeter := agent.Must(agent.NewLLM(agent.LLMConfig{Name: "greeter", Model: scripted.New(scripted.Say("Hello."))}))
	srv, err := parley.Open(ctx, parley.Config{Agents: map[string]*agent.Agent{"app": greeter}})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close(ctx)
	if _, err := srv.Ask(ctx, "app", "ann", "first", "Hi"); err != nil {
		log.Fatal(err)
	}
	rec := httptest.NewRecorder()
	srv.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(rec.Body.String()) {
		if strings.HasPrefix(line, "parley_runs_total") {
			fmt.Print(line)
		}
	}
	// Output: parley_runs_total{app="app",status="completed"} 1
}
