package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/anthropic"
)

func ExampleNew() {
	// A server in place of Anthropic's.
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, r.Header.Get("X-Api-Key"))
		w.Header().Set("Content-Type", "text/event-stream")
		for _, data := range []string{
			`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Paris."}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`,
			`{"type":"message_stop"}`,
		} {
			var kind struct{ Type string }
			_ = json.Unmarshal([]byte(data), &kind)
			_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind.Type, data)
		}
	}))
	defer srv.Close()

	m, err := anthropic.New("claude-sonnet-4-5", &anthropic.Options{APIKey: "my-key", BaseURL: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Ask(context.Background(), m, "What is the capital of France?"))
	// Output:
	// POST /v1/messages my-key
	// Paris. <nil>
}
