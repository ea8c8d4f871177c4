package cli

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/parley-run/parley"
)

// Errors about the configuration name flags that exist, for fields that exist.
func TestFieldsOfErrors(t *testing.T) {
	env := &Env{}
	flags := newAPIServer(env).Flags()
	for field, flag := range fields {
		at := reflect.TypeFor[parley.Config]()
		for name := range strings.SplitSeq(field, ".") {
			f, ok := at.FieldByName(name)
			if !ok {
				t.Errorf("parley.Config has no field %s", field)
				break
			}
			at = f.Type
		}
		if name, ok := strings.CutPrefix(flag, "--"); ok && flags.Lookup(name) == nil && field != "UI.Enabled" {
			t.Errorf("%s: there is no flag %s", field, flag)
		}
	}
}

// A field that begins with the name of another one has its own flag, and texts
// that are not about the configuration stay as they are, unless they name both.
func TestFieldsBecomeFlags(t *testing.T) {
	wrong := &parley.ConfigError{Field: "Logins.KeyFile", Err: errors.New("give Logins.KeyFile or Logins.Key")}
	if got, want := message(wrong), "parley: --credential_key_file: give --credential_key_file or PARLEY_CREDENTIAL_KEY"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	both := errors.New("set --credential_kms (Logins.KMS), or PARLEY_CREDENTIAL_KEY (Logins.Key)")
	for _, err := range []error{both, &parley.ConfigError{Field: "Logins.KeyFile", Err: both}} {
		if got, want := message(err), "set --credential_kms, or PARLEY_CREDENTIAL_KEY"; !strings.HasSuffix(got, want) || strings.Contains(got, "Logins") {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if other := errors.New("Logins.Key"); message(other) != other.Error() {
		t.Errorf("%q", message(other))
	}
}
