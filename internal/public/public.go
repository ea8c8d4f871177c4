// Package public tells which addresses belong to the public internet.
package public

import (
	"net/netip"
	"slices"
)

// closed are networks that are not the public internet, beside those that
// netip.Addr knows: what a server finds there was not meant for it to be sent to.
var closed = func() (out []netip.Prefix) {
	for _, p := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"168.63.129.16/32",                                     // Azure's host, which serves secrets
		"2001::/23", "2002::/16", "2001:db8::/32", "3fff::/20", // tunnels, and examples
	} {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}()

// global are the addresses of IPv6 that are assigned to the internet. Others may be those
// of IPv4 in disguise, which a network translates: 64:ff9b::/96, ::ffff:0:0:0/96.
var global = netip.MustParsePrefix("2000::/3")

// Is reports whether an address is one that everyone reaches: neither this
// machine nor one that only its neighbours see. Ask it about the address that is
// connected to, after all names were resolved.
func Is(address netip.Addr) bool {
	address = address.WithZone("").Unmap()
	return address.IsGlobalUnicast() && !address.IsPrivate() && (address.Is4() || global.Contains(address)) &&
		!slices.ContainsFunc(closed, func(p netip.Prefix) bool { return p.Contains(address) })
}

// Networks may be called although they are not the public internet.
type Networks []netip.Prefix

// Contains reports whether an address is in one of the networks.
func (n Networks) Contains(address netip.Addr) bool {
	address = address.WithZone("").Unmap()
	return slices.ContainsFunc(n, func(p netip.Prefix) bool { return p.Contains(address) })
}

// Permits reports whether an address may be called: it is public, or in one of the
// networks.
func (n Networks) Permits(address netip.Addr) bool { return n.Contains(address) || Is(address) }
