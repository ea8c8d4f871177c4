package tool

import (
	"encoding/json"
	"fmt"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
)

// ConfirmationCall is the name of the function call that asks a user whether a
// tool call may be made. A client answers it; models do not see it.
const ConfirmationCall = "adk_request_confirmation"

// The names of the function call that asks a user to log in. A client answers it;
// models do not see it.
//
//nolint:gosec // they are names of calls
const (
	CredentialCall    = "svc_request_credential"
	CredentialCallADK = "adk_request_credential"
)

// IsCredentialCall reports whether a call of that name asks a user to log in.
func IsCredentialCall(name string) bool { return name == CredentialCall || name == CredentialCallADK }

// AskedConfig returns the login that a call of CredentialCall asks for.
func AskedConfig(call *event.FunctionCall) (cfg *credential.Config, err error) {
	err = wire.Decode(call.Args, func(r *wire.Reader) error {
		// Both spellings are there, each spelled so within. They say the same.
		return r.Members(func(name string) error {
			if name != "authConfig" && name != "auth_config" || cfg != nil {
				return r.Skip()
			}
			var doc json.RawMessage
			if err := r.Raw(&doc); err != nil {
				return err
			}
			cfg, err = credential.DecodeConfig(doc)
			return err
		})
	})
	if err == nil && cfg == nil {
		err = fmt.Errorf("the call %s asks for nothing", call.ID)
	}
	return cfg, err
}
