package devui_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	_ "github.com/parley-run/parley/devui" // has the developer UI
	"github.com/parley-run/parley/model/scripted"
)

func Example() {
	ctx := context.Background()
	greeter := agent.Must(agent.NewLLM(agent.LLMConfig{Name: "greeter", Model: scripted.New(scripted.Say("Hello."))}))
	srv, err := parley.Open(ctx, parley.Config{Agents: map[string]*agent.Agent{"app": greeter}, UI: parley.UIConfig{Enabled: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close(ctx)
	rec := httptest.NewRecorder()
	srv.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodGet, "/dev-ui/", nil))
	fmt.Println(rec.Code, rec.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}
