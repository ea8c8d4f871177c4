package faces_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	_ "github.com/parley-run/parley/faces" // serves other protocols
	"github.com/parley-run/parley/model/scripted"
)

// A client of OpenAI's API talks to an agent: the model is the name of the application.
func Example() {
	ctx := context.Background()
	greeter := agent.Must(agent.NewLLM(agent.LLMConfig{Name: "greeter", Model: scripted.New(scripted.Say("Hello, Ann."))}))
	srv, err := parley.Open(ctx, parley.Config{
		Agents:  map[string]*agent.Agent{"app": greeter},
		Network: parley.NetworkConfig{Faces: []parley.Face{parley.FaceOpenAI}}, // without it, all of them
	})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close(ctx)

	body := strings.NewReader(`{"model": "app", "messages": [{"role": "user", "content": "I am Ann."}]}`)
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", body)
	req.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	srv.Handler().ServeHTTP(rec, req)
	var completion struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &completion); err != nil {
		log.Fatal(err)
	}
	for _, choice := range completion.Choices {
		fmt.Println(choice.Message.Content)
	}
	// Output: Hello, Ann.
}
