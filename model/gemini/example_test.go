package gemini_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/gemini"
)

func ExampleNew() {
	// A server in place of the Gemini API.
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, r.Header.Get("X-Goog-Api-Key"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"candidates":[{"finishReason":"STOP","content":{"role":"model","parts":[{"text":"Paris."}]}}]}`)
	}))
	defer srv.Close()

	m, err := gemini.New("gemini-2.5-flash", &gemini.Options{APIKey: "my-key", BaseURL: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Ask(context.Background(), m, "What is the capital of France?"))
	// Output:
	// POST /v1beta/models/gemini-2.5-flash:generateContent my-key
	// Paris. <nil>
}
