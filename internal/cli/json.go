package cli

import (
	"encoding/json"
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
)

// jsonFlag adds the flag with which a command writes facts for programs.
func jsonFlag(flags *pflag.FlagSet, on *bool) { flags.BoolVar(on, "json", false, "as JSON") }

// writeJSON writes one document on one line.
func (e *Env) writeJSON(value any) error { return json.NewEncoder(e.Stdout).Encode(value) }

// keyJSON is an API key as programs get it. Times that are not there are left out.
type keyJSON struct {
	ID       string    `json:"id"`
	Key      string    `json:"key,omitempty"` // the secret, when it is created
	Name     string    `json:"name,omitempty"`
	User     string    `json:"user,omitempty"`
	Scopes   []string  `json:"scopes"`
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires,omitzero"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
}

func newKeyJSON(k parley.APIKey) keyJSON {
	return keyJSON{ID: k.ID, Name: k.Name, User: k.User, Scopes: k.Scopes, Created: k.Created.UTC(), Expires: k.Expires.UTC(), LastUsed: k.Used.UTC()}
}
