package trigger

import (
	"fmt"
	"maps"
	"slices"

	"github.com/parley-run/parley/internal/wire"
)

// FileName is the name of the file with the triggers of an application.
const FileName = "triggers.yaml"

// MaxFile bounds it.
const MaxFile = 256 << 10

// ReadFile reads the triggers of an application, which are an object by their names.
// getenv returns the value of an environment variable, empty if it is not set.
func ReadFile(app string, doc []byte, getenv func(string) string) (map[string]*Trigger, error) {
	all := map[string]*Trigger{}
	err := wire.Decode(doc, func(in *wire.Reader) error {
		if in.Null() {
			return nil
		}
		return in.Members(func(name string) error {
			t := &Trigger{App: app, Name: name}
			all[name] = t
			return in.Patch(func(member string) error {
				if member == "secretEnv" {
					return in.String(&t.Spec.SecretEnv)
				}
				known, err := t.Spec.Read(in, member)
				if err == nil && !known {
					err = in.Errorf("value_error", "is not a member of a trigger")
				}
				return err
			})
		})
	})
	if err != nil {
		return nil, err
	}
	if len(all) > maxPerApp {
		return nil, fmt.Errorf("there are more than %d triggers", maxPerApp)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := all[name].prepare(getenv); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all, nil
}

// prepare checks a trigger of a file, and finds its secret.
func (t *Trigger) prepare(getenv func(string) string) error {
	if err := checkName(t.Name); err != nil {
		return err
	}
	if err := t.Spec.validate(); err != nil {
		return err
	}
	switch {
	case t.Spec.Check == Google && t.Spec.SecretEnv != "":
		return wrong("secretEnv", "identity tokens need no secret")
	case t.Spec.Check == Google:
		return nil
	case t.Spec.SecretEnv == "":
		return wrong("secretEnv", "must name the environment variable with the secret")
	}
	t.secret = getenv(t.Spec.SecretEnv)
	if t.secret == "" {
		t.Problem = "the environment variable " + t.Spec.SecretEnv + " is not set"
	} else if err := checkSecret(t.Spec.Check, t.secret); err != nil {
		t.Problem = "the environment variable " + t.Spec.SecretEnv + ": " + err.Error()
	}
	return nil
}
