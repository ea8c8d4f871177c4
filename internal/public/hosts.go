package public

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Hosts are what may be connected to beside the public internet.
type Hosts struct {
	rules []hostRule
}

// hostRule is one of them: a name or a network, with any port if it is 0.
type hostRule struct {
	name    string
	network netip.Prefix
	port    int
}

// RefusedError says that a connection is not permitted.
type RefusedError struct{ Address string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("connections to %s are not permitted: it is not in the public internet", e.Address)
}

// ParseHosts reads hosts: names, addresses, both also with a port, and networks.
// The word public is none of them, and stands for no more than the public
// internet.
func ParseHosts(list []string) (*Hosts, error) {
	h := &Hosts{}
	for _, text := range list {
		if text == "public" {
			continue
		}
		rule, ok := parseHost(strings.ToLower(strings.TrimSpace(text)))
		if !ok {
			return nil, fmt.Errorf("%q is neither a host, such as db.internal:5432, nor a network, such as 10.0.0.0/8", text)
		}
		h.rules = append(h.rules, rule)
	}
	return h, nil
}

func parseHost(text string) (hostRule, bool) {
	if network, err := netip.ParsePrefix(text); err == nil {
		return hostRule{network: network.Masked()}, true
	}
	var port int
	if host, p, err := net.SplitHostPort(text); err == nil {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			return hostRule{}, false
		}
		text = host
	}
	if address, err := netip.ParseAddr(text); err == nil {
		address = address.WithZone("").Unmap()
		return hostRule{network: netip.PrefixFrom(address, address.BitLen()), port: port}, true
	}
	name := strings.TrimSuffix(text, ".")
	return hostRule{name: name, port: port}, name != "" && !strings.ContainsAny(name, " /:@[]%")
}

// Dial connects as the dialer does, to a permitted address. Addresses are checked
// when connecting: a name may resolve differently each time.
func (h *Hosts) Dial(ctx context.Context, d *net.Dialer, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if h.names(host, port) {
		return d.DialContext(ctx, network, address)
	}
	checked := *d
	checked.Control = func(_, to string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(to); err != nil || !h.Permits(at) {
			return &RefusedError{address}
		}
		return nil
	}
	return checked.DialContext(ctx, network, address)
}

// names reports whether a name is permitted, wherever it leads.
func (h *Hosts) names(host, port string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return slices.ContainsFunc(h.rules, func(r hostRule) bool {
		return r.name != "" && r.name == host && (r.port == 0 || strconv.Itoa(r.port) == port)
	})
}

// Permits reports whether an address may be connected to.
func (h *Hosts) Permits(at netip.AddrPort) bool {
	address := at.Addr().WithZone("").Unmap()
	return Is(address) || slices.ContainsFunc(h.rules, func(r hostRule) bool {
		return r.name == "" && r.network.Contains(address) && (r.port == 0 || r.port == int(at.Port()))
	})
}
