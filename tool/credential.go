package tool

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/parley-run/parley/credential"
)

// Credentials is how calls get at the logins of a user.
type Credentials interface {
	// Request prepares a login, and returns what the user is asked: nothing
	// secret, and the address to go to.
	Request(ctx context.Context, cfg *credential.Config) (*credential.Config, error)
	// Bind tells under which id the user is asked.
	Bind(ctx context.Context, requestID string, asked *credential.Config) error
	// Response is a credential that can be used now, or nil when the user has
	// to log in.
	Response(ctx context.Context, cfg *credential.Config) (*credential.Credential, error)
	// Drop forgets a credential that was refused.
	Drop(ctx context.Context, cfg *credential.Config) error
}

var errNoLogins = errors.New("logins are not available here: only a tool that an agent of a server calls can ask for one")

// RequestCredential asks the user to log in. The call should then return
// Pending: the run waits, and when the user has logged in the call is made again
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

// AuthResponse is the credential for cfg: what the user's login has brought, or
// what needs no user. It is nil when the user has to be asked.
func (c *Context) AuthResponse(cfg *credential.Config) (*credential.Credential, error) {
	if c.Credentials == nil {
		return nil, errNoLogins
	}
	return c.Credentials.Response(c, cfg)
}

// DropCredential forgets the credential for cfg, because the API that it was for
// has refused it. The next AuthResponse is nil.
func (c *Context) DropCredential(cfg *credential.Config) error {
	if c.Credentials == nil {
		return errNoLogins
	}
	return c.Credentials.Drop(c, cfg)
}

// Pending is the result of a call that waits for a login.
func Pending(message string) any {
	return map[string]any{"pending": true, "message": message}
}
