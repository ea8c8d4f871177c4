// Package loopback tells which addresses only programs on the same machine reach.
package loopback

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Secure reports whether a URL is protected from eavesdropping and tampering: it uses TLS, or is on this machine.
func Secure(u *url.URL) bool {
	return u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && Is(u.Host))
}

// Is reports whether a host, with or without a port, is this very machine. Names
// other than localhost are not looked up: what they mean may change.
func Is(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}
