package tool

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/parley-run/parley/credential"
)

// Credentials gives calls access to the logins of a user.
type Credentials interface {
	// Request prepares a login. It returns what the user is asked, without
	// secrets, and with the address to visit.
	Request(ctx context.Context, cfg *credential.Config) (*credential.Config, error)
	// Response returns a credential that can be used now, or nil if the user
	// has to log in.
	Response(ctx context.Context, cfg *credential.Config) (*credential.Credential, error)
	// Drop deletes a credential that was refused.
	Drop(ctx context.Context, cfg *credential.Config) error
}

var errNoLogins = errors.New("logins are not available here: only a tool that an agent of a server calls can ask for one")

// RequestCredential asks the user to log in. The call should then return
// Pending: the run waits, and when the user has logged in the call is repeated
// with the same arguments and the same id.
func (c *Context) RequestCredential(cfg *credential.Config) error {
	if c.Credentials == nil || c.FunctionCallID == "" {
		return errNoLogins
	}
	asked, err := c.Credentials.Request(c, cfg)
	if err != nil {
		return err
	}
	doc, err := asked.AppendJSON(nil, credential.Camel)
	if err != nil {
		return err
	}
	if c.Actions.RequestedAuthConfigs == nil {
		c.Actions.RequestedAuthConfigs = map[string]json.RawMessage{}
	}
	c.Actions.RequestedAuthConfigs[c.FunctionCallID] = doc
	return nil
}

// AuthResponse returns the credential for cfg: that of the user's login, or one
// that needs no user. It is nil if the user has to be asked.
func (c *Context) AuthResponse(cfg *credential.Config) (*credential.Credential, error) {
	if c.Credentials == nil {
		return nil, errNoLogins
	}
	return c.Credentials.Response(c, cfg)
}

// DropCredential deletes the credential for cfg, because the API has refused
// it. The next AuthResponse is nil.
func (c *Context) DropCredential(cfg *credential.Config) error {
	if c.Credentials == nil {
		return errNoLogins
	}
	return c.Credentials.Drop(c, cfg)
}

// Pending returns the result of a call that waits for a login.
func Pending(message string) any {
	return map[string]any{"pending": true, "message": message}
}
