package openapi

import (
	"errors"
	"net/http"
	"net/url"
	"time"
)

// guard is a client that follows redirects without giving anything away.
func guard(client *http.Client) *http.Client {
	if client == nil {
		client = &http.Client{Timeout: time.Minute}
	}
	guarded := *client
	next := client.CheckRedirect
	guarded.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		// The address that was called before may have a key in its query.
		req.Header.Del("Referer")
		for _, hop := range append(via[1:len(via):len(via)], req) {
			if !sameOrigin(hop.URL, via[0].URL) {
				// Also when the way leads back: it was another who showed it.
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

// strip leaves only headers that say nothing about who asks.
func strip(h http.Header) {
	for name := range h {
		switch name {
		case "Accept", "Content-Type", "Content-Length":
		default:
			delete(h, name)
		}
	}
}
