package openai_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/openai"
)

func ExampleNew() {
	// A server that speaks chat completions, in place of OpenAI's.
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"model":"gpt-5","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Paris."}}]}`)
	}))
	defer srv.Close()

	m, err := openai.New("gpt-5", &openai.Options{APIKey: "my-key", BaseURL: srv.URL + "/v1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Ask(context.Background(), m, "What is the capital of France?"))
	// Output:
	// POST /v1/chat/completions Bearer my-key
	// Paris. <nil>
}
