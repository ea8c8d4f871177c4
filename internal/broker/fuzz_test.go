package broker

import (
	"net/url"
	"testing"
)

// A callback URL is accepted only with the state of the login, and only with one meaning.
func FuzzCallback(f *testing.F) {
	for _, query := range []string{
		"code=c&state=s", "authorization_code=c&state=s", "error=access_denied&state=s", "error=server_error&state=s",
		"code=c", "code=c&state=s&state=s", "code=%zz&state=s", "state=s;code=c", "code=c&state=s&iss=https://other.example",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		p := &pending{State: "s", Client: client{Issuer: "https://issuer.example"}}
		u := &url.URL{Scheme: "https", Host: "client.example", RawQuery: query}
		got, err := p.callback(u)
		if (got == nil) == (err == nil) {
			t.Fatalf("%v, %v", got, err)
		}
		if err != nil {
			return
		}
		values := u.Query()
		if len(values["state"]) != 1 || values.Get("state") != "s" || got.Denied == (got.Code != "") ||
			values.Has("iss") && values.Get("iss") != "" && values.Get("iss") != "https://issuer.example" {
			t.Fatalf("%q counts as %+v", query, got)
		}
	})
}
