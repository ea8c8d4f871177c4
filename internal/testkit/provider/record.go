package provider

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Counts are what a provider has granted since it was started. What it refused
// is in the log of requests only.
type Counts struct {
	Authorizations    int // codes that were handed out
	Denials           int // users who said no
	Exchanges         int // codes that became tokens
	Refreshes         int
	ClientCredentials int
	Revocations       int // tokens that were given back and were good until then
}

// Counts returns what has been granted until now.
func (p *Provider) Counts() Counts {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	return p.store.counts
}

// Request is a request that came in, whatever became of it.
type Request struct {
	Method, Path string
	// Form has the names of what was sent in the query and in a form, in order.
	// Most values are secrets, and left out.
	Form []string
	// Grant is the grant_type of a request for a token.
	Grant string
}

// requestLog holds the requests in the order in which they came.
type requestLog struct {
	mu      sync.Mutex
	entries []Request
	tokens  []string
}

// add takes a request in whose form has been read.
func (l *requestLog) add(r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, Request{
		Method: r.Method, Path: r.URL.Path,
		Form: slices.Sorted(maps.Keys(r.Form)), Grant: r.Form.Get("grant_type"),
	})
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		l.tokens = append(l.tokens, token)
	}
}

// Tokens returns the access tokens that requests have had, so that a test can search
// for them.
func (p *Provider) Tokens() []string {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	return slices.Clone(p.log.tokens)
}

// Requests returns all requests until now, or those for the given paths. A
// request is there before it is answered.
func (p *Provider) Requests(paths ...string) []Request {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	found := []Request{}
	for _, entry := range p.log.entries {
		if len(paths) == 0 || slices.Contains(paths, entry.Path) {
			found = append(found, entry)
		}
	}
	return found
}
