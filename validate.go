package parley

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/loopback"
	"github.com/parley-run/parley/internal/peer"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/session"
)

// ConfigError means that a field of Config is invalid.
type ConfigError struct {
	Field string // such as Sessions.URL
	Err   error
}

func (e *ConfigError) Error() string { return "parley: " + e.Field + ": " + e.Err.Error() }

// Unwrap returns e.Err.
func (e *ConfigError) Unwrap() error { return e.Err }

// inField is an error about a field of Config; nil if err is nil.
func inField(field string, err error) error {
	if err == nil {
		return nil
	}
	return &ConfigError{field, err}
}

// wrong is an error about a field of Config.
func wrong(field, format string, args ...any) error {
	return &ConfigError{field, fmt.Errorf(format, args...)}
}

// validate refuses settings that cannot be meant, before anything is opened.
func (c *Config) validate() error {
	if len(c.Agents) == 0 && c.Scripts.Dir == "" {
		return errors.New("parley: there is nothing to serve: give agents in Agents, or a directory of them in Scripts.Dir")
	}
	for name, root := range c.Agents {
		if err := session.CheckIdentifier("application name", name); err != nil {
			return wrong("Agents", "%q: %w", name, err)
		}
		if root == nil {
			return wrong("Agents", "%q is nil", name)
		}
		if root.Parent() != nil {
			return wrong("Agents", "%q: the agent %s is a sub-agent of %s; an application starts with a root", name, root.Name(), root.Parent().Name())
		}
	}
	for _, check := range []func() error{
		c.Scripts.validate, c.Sessions.validate, c.Artifacts.validate, c.Logins.validate, c.Access.validate, c.Limits.validate, c.Network.validate, c.Network.checkFaces, c.Network.checkPlatforms, c.Recording.validate, c.Inbox.validate, c.across,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// An engine needs some memory before any code of an application runs, and cannot
// address more than the maximum.
const (
	minEngineMemory = 16 << 20
	maxEngineMemory = 16 << 30
)

func (c *ScriptConfig) validate() error {
	if c.Engines < 0 {
		return wrong("Scripts.Engines", "must not be negative")
	}
	if !slices.Contains([]Engine{"", EngineQuickJS, EngineNode}, c.Engine) {
		return wrong("Scripts.Engine", "%q is neither quickjs nor node", c.Engine)
	}
	if c.EngineMemory != 0 && (c.EngineMemory < minEngineMemory || c.EngineMemory > maxEngineMemory) {
		return wrong("Scripts.EngineMemory", "%d bytes are not from %s to %s", c.EngineMemory, bounded.Size(minEngineMemory), bounded.Size(maxEngineMemory))
	}
	return nil
}

func (c *SessionConfig) validate() error {
	switch {
	case !slices.Contains([]session.Policy{"", session.Enqueue, session.Reject, session.Interrupt, session.Rollback}, c.OnBusy):
		return wrong("Sessions.OnBusy", "%q is none of enqueue, reject, interrupt and rollback", c.OnBusy)
	case !slices.Contains([]Disconnect{"", DisconnectContinue, DisconnectCancel}, c.OnDisconnect):
		return wrong("Sessions.OnDisconnect", "%q is neither continue nor cancel", c.OnDisconnect)
	case c.RunLease < 0 || c.RunLease > 0 && c.RunLease < minLease:
		return wrong("Sessions.RunLease", "%v is too short; it must be at least %v", c.RunLease, minLease)
	case c.RunLease > session.MaxLease:
		return wrong("Sessions.RunLease", "%v is too long; it must be at most %v", c.RunLease, session.MaxLease)
	case c.TTL < 0:
		return wrong("Sessions.TTL", "must not be negative")
	}
	return nil
}

func (c *ArtifactConfig) validate() error {
	if c.MaxBytes < 0 {
		return wrong("Artifacts.MaxBytes", "must not be negative")
	}
	return nil
}

func (c *LoginConfig) validate() error {
	switch {
	case !slices.Contains([]LoginCall{"", LoginCallParley, LoginCallADK}, c.Call):
		return wrong("Logins.Call", "%q is neither %s nor %s", c.Call, LoginCallParley, LoginCallADK)
	case c.Key != "" && c.KeyFile != "":
		return wrong("Logins.KeyFile", "Logins.Key is the same thing: give one of them")
	case c.Timeout < 0:
		return wrong("Logins.Timeout", "must not be negative")
	}
	return nil
}

func (c *AccessConfig) validate() error {
	o := &c.OIDC
	switch {
	case !slices.Contains([]AccessMode{"", AccessLocal, AccessPublic, AccessPlatform, AccessOIDC, AccessKeys}, c.Mode):
		return wrong("Access.Mode", "%q is none of %s, %s, %s, %s and %s", c.Mode, AccessLocal, AccessPublic, AccessPlatform, AccessOIDC, AccessKeys)
	case c.Proxied && c.Mode != AccessPublic:
		return wrong("Access.Proxied", "needs Access.Mode public: other modes tell callers apart by who they are, or know that there is a platform")
	case c.UserHeader != "" && c.Mode != AccessPlatform:
		return wrong("Access.UserHeader", "needs Access.Mode platform: in other modes callers could set it themselves")
	case c.Mode != AccessOIDC && (o.ClientID != "" || len(o.Issuers) > 0 || len(o.Audiences) > 0 || len(o.Admins) > 0 || len(o.Delegates) > 0 || len(o.Readers) > 0 || len(o.Reviewers) > 0):
		return wrong("Access.OIDC", "identity tokens are checked with Access.Mode oidc only")
	case o.ClientID == "" && (o.ClientSecret != "" || o.ClientSecretFile != ""):
		return wrong("Access.OIDC.ClientSecret", "is that of a client: give Access.OIDC.ClientID")
	case c.Mode == AccessOIDC && len(o.Issuers) == 0:
		return wrong("Access.OIDC.Issuers", "identity tokens need an issuer")
	case c.Mode == AccessOIDC && (len(o.Audiences) == 0 && o.ClientID == "" || slices.Contains(o.Audiences, "")):
		return wrong("Access.OIDC.Audiences", "identity tokens need an audience: without one, a token for any other service would do")
	case c.Mode != AccessKeys && c.KeysURL != "":
		return wrong("Access.KeysURL", "API keys are checked with Access.Mode keys only")
	}
	return nil
}

// maxCost is the largest limit of costs, in US dollars.
const maxCost = 1e9

func (l *Limits) validate() error {
	for _, limit := range []struct {
		field string
		value int64
	}{
		{"RequestsPerMinute", int64(l.RequestsPerMinute)},
		{"ConcurrentRuns", int64(l.ConcurrentRuns)},
		{"QueueDepth", int64(l.QueueDepth)},
		{"RunDuration", int64(l.RunDuration)},
		{"RunTokens", l.RunTokens},
		{"DayTokens", l.DayTokens},
		{"ModelCalls", int64(l.ModelCalls)},
		{"ToolCalls", int64(l.ToolCalls)},
		{"ModelResponseBytes", l.ModelResponseBytes},
		{"ToolResultBytes", l.ToolResultBytes},
		{"BodyBytes", l.BodyBytes},
	} {
		if limit.value < 0 {
			return wrong("Limits."+limit.field, "must not be negative")
		}
	}
	for _, limit := range []struct {
		field string
		value float64
	}{{"RunCost", l.RunCost}, {"DayCost", l.DayCost}, {"WarnDayCost", l.WarnDayCost}} {
		if !(limit.value >= 0 && limit.value <= maxCost) { // also not a number
			return wrong("Limits."+limit.field, "must be a number of US dollars from 0 to %d", int(maxCost))
		}
	}
	return nil
}

func (c *NetworkConfig) validate() error {
	if c.Port < 0 || c.Port > 65535 {
		return wrong("Network.Port", "%d is not a port", c.Port)
	}
	for _, origin := range c.AllowOrigins {
		if !server.ValidOrigin(origin) {
			return wrong("Network.AllowOrigins", "%q is not an origin as browsers send it, such as https://app.example.com, "+
				"or https://*.example.com with one *; the usual ports, 443 and 80, are left out", origin)
		}
	}
	for _, host := range c.AllowHosts {
		name := strings.TrimPrefix(host, "*.")
		if name == "" || strings.ContainsAny(name, "*/ ") || strings.Contains(name, ":") && net.ParseIP(name) == nil {
			return wrong("Network.AllowHosts", "%q is not a host name, such as api.example.com or *.example.com; ports are left out", host)
		}
	}
	if _, err := c.publicURL(); err != nil {
		return err
	}
	if c.PeerAddr != "" {
		if _, err := peer.Address(c.PeerAddr, defaultPort); err != nil {
			return inField("Network.PeerAddr", err)
		}
	}
	if c.AdminAddr != "" {
		if _, err := c.adminAddress(); err != nil {
			return err
		}
	}
	return nil
}

// isLoopback reports whether only programs on the same machine reach a server at
// Host.
func (c *NetworkConfig) isLoopback() bool { return c.Host == "" || loopback.Is(c.Host) }

// across refuses settings of one group that do not go with those of another.
func (c *Config) across() error {
	client := c.Access.OIDC.ClientID != ""
	switch {
	case c.UI.Dir != "" && !c.UI.Enabled:
		return wrong("UI.Dir", "it needs UI.Enabled")
	case c.local() && !c.Network.isLoopback():
		return wrong("Network.Host", "other machines can reach %s; say who may call with Access.Mode: "+
			"%s for those with an identity token, %s for those with an API key, %s if what is in front of the server checks it, or %s for everyone",
			c.Network.Host, AccessOIDC, AccessKeys, AccessPlatform, AccessPublic)
	case client && !c.UI.Enabled:
		return wrong("Access.OIDC.ClientID", "is for users of the developer UI: it needs UI.Enabled")
	case client && c.Network.PublicURL == "" && !c.Network.isLoopback():
		return wrong("Access.OIDC.ClientID", "users come back from the issuer, so the server has to know where they reach it: give Network.PublicURL")
	case c.Access.Mode == AccessKeys && c.Access.KeysURL == "" && volatile(c.Sessions.URL):
		return wrong("Access.Mode", "API keys need a database: give Sessions.URL or, to keep sessions elsewhere, "+
			"Access.KeysURL, such as sqlite:///path/to/keys.db")
	}
	return nil
}
