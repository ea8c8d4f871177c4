package parley

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/session"
)

// logins is the broker as the engine wants it.
type logins struct{ *broker.Broker }

func (l logins) For(key session.Key) run.Wallet { return l.Broker.For(key) }

// newBroker makes the broker that the configuration asks for.
func newBroker(cfg *Config, store session.Store) (*broker.Broker, error) {
	seal, err := cfg.vault()
	if err != nil {
		return nil, err
	}
	var networks []netip.Prefix
	for _, text := range cfg.AllowPrivateLogins {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("AllowPrivateLogins: %q is not a network such as 10.0.0.0/8", text)
		}
		networks = append(networks, network)
	}
	if _, err := cfg.publicURL(); err != nil {
		return nil, err
	}
	return broker.New(broker.Options{
		Secrets: store, Vault: seal, PerUser: cfg.CredentialsPerUser, AllowPrivate: networks,
		PublicURL: cfg.PublicURL, Now: cfg.Now, Log: cfg.Log,
	}), nil
}

// publicURL is PublicURL, nil if there is none.
func (c *Config) publicURL() (*url.URL, error) {
	if c.PublicURL == "" {
		return nil, nil //nolint:nilnil // it is not needed
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("PublicURL: %q is not an address such as https://agents.example.com", c.PublicURL)
	}
	return u, nil
}

// vault is what seals logins: by the key that was given, or by one that is made
// where that can be done without losing it. It is nil where it cannot.
func (c *Config) vault() (*vault.Vault, error) {
	switch path, isSQLite := strings.CutPrefix(c.SessionDBURL, "sqlite:"); {
	case c.CredentialKey != "":
		v, err := vault.New([]byte(c.CredentialKey))
		if err != nil {
			return nil, fmt.Errorf("CredentialKey: %w", err)
		}
		return v, nil
	case c.CredentialKeyFile != "":
		v, err := vault.OpenFile(c.CredentialKeyFile)
		if err != nil {
			return nil, fmt.Errorf("CredentialKeyFile: %w", err)
		}
		return v, nil
	case c.SessionDBURL == "":
		key, err := vault.Generate() // as lasting as the sessions are
		if err != nil {
			return nil, err
		}
		return vault.New(key)
	case isSQLite:
		file, err := sqlitePath(path)
		if err != nil {
			return nil, fmt.Errorf("SessionDBURL: %w", err)
		}
		return vault.CreateFile(file + ".key")
	}
	return nil, nil
}
