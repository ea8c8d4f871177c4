package server

import (
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/broker"
)

// The content of a login page comes from agents, providers and clients. None of it may become markup.
func TestLoginPageEscapes(t *testing.T) {
	hostile := func(where string) string { return where + `"'><script>alert(1)</script>&%s` }
	page := loginPageData{
		Title: hostile("title"), Text: hostile("text"),
		Visit: &broker.Visit{
			App: hostile("app"), User: hostile("user"), Provider: hostile("provider"),
			Scopes: []string{hostile("first scope"), hostile("second scope")},
		},
		Action: hostile("action"), State: hostile("state"), Token: hostile("token"),
	}.html()
	if strings.Contains(page, "<script") || strings.Contains(page, "%!") {
		t.Errorf("a value became markup, or a format:\n%s", page)
	}
	for _, where := range []string{"title", "text", "app", "user", "provider", "first scope", "second scope", "action", "state", "token"} {
		if want := where + `&#34;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;%s`; !strings.Contains(page, want) {
			t.Errorf("%s is not on the page as %s:\n%s", where, want, page)
		}
	}
}
