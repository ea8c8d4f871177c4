package parley

import (
	"bytes"
	"context"
	"net/netip"
	"net/url"
	"strings"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/outbox"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// logins is the broker as the engine wants it.
type logins struct{ *broker.Broker }

func (l logins) For(key session.Key) run.Credentials { return l.Broker.For(key) }

// newBroker makes the broker that the configuration asks for.
func newBroker(ctx context.Context, cfg *Config, store session.Store) (*broker.Broker, error) {
	seal, err := cfg.vault(ctx)
	if err != nil {
		return nil, err
	}
	networks, err := cfg.privateNetworks("Logins.AllowPrivate", cfg.Logins.AllowPrivate)
	if err != nil {
		return nil, err
	}
	return broker.New(broker.Options{
		Secrets: store, Vault: seal, PerUser: cfg.Logins.PerUser, AllowPrivate: networks,
		PublicURL: cfg.Network.PublicURL, Timeout: cfg.Logins.Timeout, WaitTTL: cfg.waitTTL(), Now: cfg.Now, Log: cfg.Log,
	}), nil
}

// privateNetworks reads the networks of a field, in which others may be called.
func (c *Config) privateNetworks(field string, texts []string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	if c.Access.Mode == AccessLocal { // callers are on this machine themselves
		networks = append(networks, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
	}
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, wrong(field, "%q is not a network such as 10.0.0.0/8", text)
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// newOutbox makes what sends notifications. It is nil if the store has no outbox, or
// there is nothing to seal the addresses of receivers with.
func newOutbox(cfg *Config, store session.Store, logins *broker.Broker, observer outbox.Observer) (*outbox.Outbox, error) {
	networks, err := cfg.privateNetworks("Network.AllowPrivateWebhooks", cfg.Network.AllowPrivateWebhooks)
	if err != nil || store.Outbox == nil || !logins.CanKeep() {
		return nil, err
	}
	return outbox.New(outbox.Options{
		Store: store.Outbox, Secrets: logins, AllowPrivate: networks, Passive: cfg.Sessions.Passive, Log: cfg.Log, Observer: observer,
	}), nil
}

// publicURL is PublicURL, nil if there is none.
func (c *NetworkConfig) publicURL() (*url.URL, error) {
	if c.PublicURL == "" {
		return nil, nil //nolint:nilnil // it is not needed
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, wrong("Network.PublicURL", "%q is not an address such as https://agents.example.com", c.PublicURL)
	}
	return u, nil
}

// vault is what seals logins: by the key that was given, or by one that is made
// where that can be done without losing it. It is nil where it cannot.
func (c *Config) vault(ctx context.Context) (*vault.Vault, error) {
	path, err := c.keyPath()
	if err != nil {
		return nil, err
	}
	if c.Logins.KMS != "" {
		if _, err := c.keysets("Logins.KMS"); err != nil {
			return nil, err
		}
	}
	switch {
	case c.Logins.Key != "":
		return c.givenVault(ctx)
	case c.Logins.KeyFile != "":
		file, err := c.keyFile(path)
		if err != nil {
			return nil, err
		}
		v, err := file.Open(ctx)
		if err != nil {
			return nil, inField("Logins.KeyFile", err)
		}
		return v, nil
	case volatile(c.Sessions.URL):
		return vault.New(vault.Generate()) // as lasting as logins are
	case path != "": // beside the SQLite file
		file, err := c.keyFile(path)
		if err != nil {
			return nil, err
		}
		return file.Create(ctx)
	case c.Logins.KMS != "":
		return nil, wrong("Logins.KMS", "there is no keyset for the service to unwrap: give it with Logins.KeyFile; parley credentials create makes one")
	}
	return nil, nil //nolint:nilnil // logins are refused, then
}

// givenVault returns a vault with the key or the keyset in Logins.Key.
func (c *Config) givenVault(ctx context.Context) (*vault.Vault, error) {
	text := []byte(strings.TrimSpace(c.Logins.Key))
	if c.Logins.KMS == "" && !bytes.HasPrefix(text, []byte("{")) {
		v, err := vault.New(text)
		return v, inField("Logins.Key", err)
	}
	keysets, err := c.keysets("Logins.Key")
	if err != nil {
		return nil, err
	}
	v, err := keysets.Open(ctx, text, c.Logins.KMS)
	return v, inField("Logins.Key", err)
}

// checkLogins refuses to serve agents that need logins when there is nothing to
// seal those with.
func (s *Server) checkLogins() error {
	if s.logins.CanKeep() {
		return nil
	}
	for _, app := range s.apps.Names() {
		root, err := s.apps.Agent(app)
		if err != nil {
			continue // it says so when it is used
		}
		if name := needsLogin(root); name != "" {
			return wrong("Logins.KeyFile", "the %s of %s needs logins of users, and there is no key to seal them with: give one "+
				"that all servers of this database share with Logins.KeyFile or Logins.Key; parley credentials create makes one", name, app)
		}
	}
	return nil
}

// needsLogin names a tool or a node in a tree of agents that needs logins.
func needsLogin(a *agent.Agent) string {
	if info, ok := agentrt.InfoOf(a); ok {
		for _, t := range info.Tools {
			if t.NeedsLogin {
				return "tool " + t.Name
			}
		}
	}
	for _, e := range workflow.Edges(a) {
		if e.To.NeedsLogin() {
			return "node " + e.To.Name()
		}
	}
	for _, sub := range a.SubAgents() {
		if name := needsLogin(sub); name != "" {
			return name
		}
	}
	return ""
}
