package credential

import (
	"fmt"
	"io"
	"log/slog"
)

// Printing, logging and marshalling a value of this package show its content
// without secrets: text has masks in their place, JSON omits them.

// masked formats a value for display.
func masked(name string, v tabled) string {
	w := writer{dst: []byte(name), masked: true}
	w.object(v.table())
	return string(w.dst)
}

// public marshals a value. It redacts the value, which must not be shared.
func public(v tabled) ([]byte, error) {
	clearSecrets(v.table())
	return appendJSON(nil, v, Camel)
}

func show(f fmt.State, s fmt.Stringer) { _, _ = io.WriteString(f, s.String()) }

// String formats the login without secrets.
func (c Config) String() string { return masked("Config", &c) }

// Format formats the login like String for every verb.
func (c Config) Format(f fmt.State, _ rune) { show(f, c) }

// LogValue returns the same as String.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON marshals the result of Redacted. AppendJSON includes secrets.
func (c Config) MarshalJSON() ([]byte, error) { return appendJSON(nil, c.Redacted(), Camel) }

// String formats the scheme without members that Parley does not know.
func (s Scheme) String() string { return masked("Scheme", &s) }

// Format formats the scheme like String for every verb.
func (s Scheme) Format(f fmt.State, _ rune) { show(f, s) }

// LogValue returns the same as String.
func (s Scheme) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON marshals the scheme in camelCase, without members that have the name
// of a secret. AppendJSON includes them.
func (s Scheme) MarshalJSON() ([]byte, error) { return public(s.Clone()) }

// String formats the credential without secrets.
func (c Credential) String() string { return masked("Credential", &c) }

// Format formats the credential like String for every verb.
func (c Credential) Format(f fmt.State, _ rune) { show(f, c) }

// LogValue returns the same as String.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON marshals the result of Redacted. AppendJSON includes secrets.
func (c Credential) MarshalJSON() ([]byte, error) { return public(c.Clone()) }

// String formats the value without secrets.
func (h HTTP) String() string { return masked("HTTP", &h) }

// Format formats the value like String for every verb.
func (h HTTP) Format(f fmt.State, _ rune) { show(f, h) }

// LogValue returns the same as String.
func (h HTTP) LogValue() slog.Value { return slog.StringValue(h.String()) }

// MarshalJSON marshals the value without secrets.
func (h HTTP) MarshalJSON() ([]byte, error) { return public(&h) }

// String formats the value without secrets.
func (o OAuth2) String() string { return masked("OAuth2", &o) }

// Format formats the value like String for every verb.
func (o OAuth2) Format(f fmt.State, _ rune) { show(f, o) }

// LogValue returns the same as String.
func (o OAuth2) LogValue() slog.Value { return slog.StringValue(o.String()) }

// MarshalJSON marshals the value without secrets.
func (o OAuth2) MarshalJSON() ([]byte, error) { return public(&o) }

// String formats the value without secrets.
func (s ServiceAccount) String() string { return masked("ServiceAccount", &s) }

// Format formats the value like String for every verb.
func (s ServiceAccount) Format(f fmt.State, _ rune) { show(f, s) }

// LogValue returns the same as String.
func (s ServiceAccount) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON marshals the value without secrets.
func (s ServiceAccount) MarshalJSON() ([]byte, error) { return public(&s) }

// String formats the key without secrets.
func (k ServiceAccountKey) String() string { return masked("ServiceAccountKey", &k) }

// Format formats the key like String for every verb.
func (k ServiceAccountKey) Format(f fmt.State, _ rune) { show(f, k) }

// LogValue returns the same as String.
func (k ServiceAccountKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalJSON marshals the key without secrets. AppendJSON writes the whole key
// file.
func (k ServiceAccountKey) MarshalJSON() ([]byte, error) { return public(&k) }
