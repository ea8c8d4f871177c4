package openapi

import (
	"errors"
	"net/http"
	"net/url"
	"time"
)

// guard returns a client that follows redirects without revealing credentials.
func guard(client *http.Client) *http.Client {
	if client == nil {
		client = &http.Client{Timeout: time.Minute}
	}
	guarded := *client
	next := client.CheckRedirect
	guarded.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		// The previous URL may have a key in its query.
		req.Header.Del("Referer")
		for _, hop := range append(via[1:len(via):len(via)], req) {
			if !sameOrigin(hop.URL, via[0].URL) {
				// Also for a redirect back to the first host, because another host
				// chose its URL.
				strip(req.Header)
				break
			}
		}
		if next != nil {
			return next(req, via)
		}
		if len(via) >= 10 {
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}
	return &guarded
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// strip removes all headers that may identify the caller.
func strip(h http.Header) {
	for name := range h {
		switch name {
		case "Accept", "Content-Type", "Content-Length":
		default:
			delete(h, name)
		}
	}
}
