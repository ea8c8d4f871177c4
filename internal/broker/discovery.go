package broker

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/openid"
)

const (
	wellKnown = "/.well-known/openid-configuration"
	// discovered is the time for which discovery results are cached.
	discovered = time.Hour
	// mostProviders bounds the cache.
	mostProviders = 200
)

// providers caches discovery documents.
type providers struct {
	mu sync.Mutex
	of map[string]described
}

type described struct {
	*description
	at time.Time
}

// description is the discovery document of a provider.
type description struct {
	provider openid.Provider
	Issuer   string   `json:"issuer"`
	AuthURL  string   `json:"authorization_endpoint"`
	TokenURL string   `json:"token_endpoint"`
	Revoke   string   `json:"revocation_endpoint"`
	Methods  []string `json:"token_endpoint_auth_methods_supported"`
	// SaysIssuer means that callbacks have the iss parameter.
	SaysIssuer bool `json:"authorization_response_iss_parameter_supported"`
}

// discover fetches the OpenID Connect discovery document of a provider.
func (b *Broker) discover(ctx context.Context, address string) (*description, error) {
	if d := b.providers.find(address, b.now()); d != nil {
		return d, nil
	}
	leave, err := b.turns.wait(ctx, "discover "+address)
	if err != nil {
		return nil, err
	}
	defer leave()
	if d := b.providers.find(address, b.now()); d != nil {
		return d, nil
	}
	issuer := strings.TrimSuffix(address, wellKnown)
	library, err := openid.Find()
	if err != nil {
		return nil, err
	}
	p, err := library.Discover(b.calls(ctx), issuer)
	// Some issuers end with a slash, which the URL does not show.
	if other, ok := errors.AsType[*openid.MismatchError](err); ok && other.Discovered == strings.TrimRight(issuer, "/")+"/" {
		p, err = library.Discover(b.calls(ctx), other.Discovered)
	}
	if other, ok := errors.AsType[*openid.MismatchError](err); ok && other != nil {
		return nil, &ExchangeError{Provider: host(address), Reason: "the provider describes itself under another name (issuer) than that in openIdConnectUrl; " +
			"set authorizationEndpoint and tokenEndpoint in the scheme instead"}
	}
	if err != nil {
		return nil, failure(host(address), err)
	}
	d := &description{provider: p}
	if err := p.Claims(d); err != nil || d.AuthURL == "" || d.TokenURL == "" {
		return nil, &ExchangeError{Provider: host(address), Reason: "the provider's description of itself lacks its endpoints"}
	}
	b.providers.keep(address, d, b.now())
	return d, nil
}

func (p *providers) find(address string, now time.Time) *description {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.of[address]; d.description != nil && now.Sub(d.at) < discovered {
		return d.description
	}
	return nil
}

func (p *providers) keep(address string, d *description, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil || len(p.of) >= mostProviders {
		p.of = map[string]described{}
	}
	p.of[address] = described{d, now}
}
