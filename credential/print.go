package credential

import (
	"fmt"
	"io"
	"log/slog"
)

// Whatever prints, logs or marshals a value of this package gets to see what
// is in it, but no secrets: stars for a reader's eyes, nothing in JSON.

// masked is a value for a reader's eyes.
func masked(name string, v tabled) string {
	w := writer{dst: []byte(name), masked: true}
	w.object(v.table())
	return string(w.dst)
}

// public is a value in JSON. The value must not be shared, it is redacted.
func public(v tabled) ([]byte, error) {
	redact(v.table())
	return appendJSON(nil, v, Camel)
}

func show(f fmt.State, s fmt.Stringer) { _, _ = io.WriteString(f, s.String()) }

// String shows what there is, without secrets.
func (c Config) String() string { return masked("Config", &c) }

// Format shows the same for every verb.
func (c Config) Format(f fmt.State, _ rune) { show(f, c) }

// LogValue shows the same in logs.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON writes what Redacted leaves. AppendJSON writes all.
func (c Config) MarshalJSON() ([]byte, error) { return appendJSON(nil, c.Redacted(), Camel) }

// String shows what there is, without members that Parley does not know.
func (s Scheme) String() string { return masked("Scheme", &s) }

// Format shows the same for every verb.
func (s Scheme) Format(f fmt.State, _ rune) { show(f, s) }

// LogValue shows the same in logs.
func (s Scheme) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON writes the scheme in camelCase, without members that are named
// like secrets. AppendJSON writes all.
func (s Scheme) MarshalJSON() ([]byte, error) { return public(s.Clone()) }

// String shows what there is, without secrets.
func (c Credential) String() string { return masked("Credential", &c) }

// Format shows the same for every verb.
func (c Credential) Format(f fmt.State, _ rune) { show(f, c) }

// LogValue shows the same in logs.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON writes what Redacted leaves. AppendJSON writes all.
func (c Credential) MarshalJSON() ([]byte, error) { return public(c.Clone()) }

// String shows what there is, without secrets.
func (h HTTP) String() string { return masked("HTTP", &h) }

// Format shows the same for every verb.
func (h HTTP) Format(f fmt.State, _ rune) { show(f, h) }

// LogValue shows the same in logs.
func (h HTTP) LogValue() slog.Value { return slog.StringValue(h.String()) }

// MarshalJSON writes what is not secret.
func (h HTTP) MarshalJSON() ([]byte, error) { return public(&h) }

// String shows what there is, without secrets.
func (o OAuth2) String() string { return masked("OAuth2", &o) }

// Format shows the same for every verb.
func (o OAuth2) Format(f fmt.State, _ rune) { show(f, o) }

// LogValue shows the same in logs.
func (o OAuth2) LogValue() slog.Value { return slog.StringValue(o.String()) }

// MarshalJSON writes what is not secret.
func (o OAuth2) MarshalJSON() ([]byte, error) { return public(&o) }

// String shows what there is, without secrets.
func (s ServiceAccount) String() string { return masked("ServiceAccount", &s) }

// Format shows the same for every verb.
func (s ServiceAccount) Format(f fmt.State, _ rune) { show(f, s) }

// LogValue shows the same in logs.
func (s ServiceAccount) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON writes what is not secret.
func (s ServiceAccount) MarshalJSON() ([]byte, error) { return public(&s) }

// String shows what there is, without secrets.
func (k ServiceAccountKey) String() string { return masked("ServiceAccountKey", &k) }

// Format shows the same for every verb.
func (k ServiceAccountKey) Format(f fmt.State, _ rune) { show(f, k) }

// LogValue shows the same in logs.
func (k ServiceAccountKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalJSON writes what is not secret. AppendJSON writes the key's file.
func (k ServiceAccountKey) MarshalJSON() ([]byte, error) { return public(&k) }
