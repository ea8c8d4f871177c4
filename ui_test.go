package parley_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/model/scripted"
)

func TestWebUI(t *testing.T) {
	for _, on := range []bool{true, false} {
		srv, err := parley.Open(t.Context(), parley.Config{Agents: agents(scripted.New(scripted.Say("Hello."))), UI: parley.UIConfig{Enabled: on}})
		if err != nil {
			t.Fatal(err)
		}
		handler := srv.Handler()
		do := func(method, path, body string) *httptest.ResponseRecorder {
			rec := httptest.NewRecorder()
			handler.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
			return rec
		}
		want := http.StatusNotFound
		if on {
			want = http.StatusOK
		}
		do("POST", "/apps/app/users/u/sessions/s", "")
		do("POST", "/run", `{"appName":"app","userId":"u","sessionId":"s","newMessage":{"parts":[{"text":"hi"}]}}`)
		for _, path := range []string{"/ui/apps/app", "/docs/guide/", "/docs/guide/api.html", "/dev-ui/", "/dev-ui/assets/config/runtime-config.json", "/dev/apps/app/users/u/runs"} {
			if rec := do("GET", path, ""); rec.Code != want {
				t.Errorf("with the UI %t, %s: %d %s", on, path, rec.Code, rec.Body)
			}
		}
		if rec := do("GET", "/", ""); rec.Code != http.StatusOK || strings.HasPrefix(rec.Header().Get("Content-Type"), "text/html") != on {
			t.Errorf("with the UI %t, /: %d %s", on, rec.Code, rec.Body)
		}
		if on {
			var runs []struct{ SessionID, Status string }
			for query, count := range map[string]int{"": 1, "?status=completed": 1, "?status=failed": 0, "?status=failed&status=completed": 1} {
				rec := do("GET", "/dev/apps/app/users/u/runs"+query, "")
				if err := json.Unmarshal(rec.Body.Bytes(), &runs); err != nil || len(runs) != count {
					t.Errorf("runs%s: %s", query, rec.Body)
				}
			}
			if rec := do("GET", "/dev-ui", ""); rec.Code/100 != 3 || rec.Header().Get("Location") != "/dev-ui/" {
				t.Errorf("/dev-ui: %d", rec.Code)
			}
		}
		// The document is for everyone.
		var doc struct{ OpenAPI string }
		if err := json.Unmarshal(do("GET", "/openapi.json", "").Body.Bytes(), &doc); err != nil || doc.OpenAPI == "" {
			t.Errorf("the document: %q, %v", doc.OpenAPI, err)
		}
		srv.Close(t.Context())
	}
}
