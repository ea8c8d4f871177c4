package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
)

// lookup answers a question about a name, as the resolver of Go does, which asks
// what the machine is configured to ask.
func (h *Host) lookup(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var m struct{ Kind, Name string }
	if err := json.Unmarshal(params, &m); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if err := h.slots.acquire(ctx); err != nil {
		return err
	}
	defer h.slots.release()
	ctx, cancel := context.WithTimeout(ctx, maxLookup)
	defer cancel()
	found, err := resolve(ctx, net.DefaultResolver, m.Kind, m.Name)
	if err != nil {
		if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsTimeout {
			return coded("ETIMEOUT", "%w", err)
		}
		return networkError(err)
	}
	return yield(found)
}

func resolve(ctx context.Context, r *net.Resolver, kind, name string) (any, error) {
	switch kind {
	case "ip", "ip4", "ip6":
		found, err := r.LookupNetIP(ctx, kind, name)
		out := make([]string, len(found))
		for i, ip := range found {
			out[i] = ip.Unmap().String()
		}
		return out, err
	case "cname":
		found, err := r.LookupCNAME(ctx, name)
		return []string{bare(found)}, err
	case "txt":
		found, err := r.LookupTXT(ctx, name)
		out := make([][]string, len(found))
		for i, text := range found {
			out[i] = []string{text}
		}
		return out, err
	case "ns":
		found, err := r.LookupNS(ctx, name)
		out := make([]string, len(found))
		for i, ns := range found {
			out[i] = bare(ns.Host)
		}
		return out, err
	case "mx":
		found, err := r.LookupMX(ctx, name)
		out := make([]any, len(found))
		for i, mx := range found {
			out[i] = map[string]any{"exchange": bare(mx.Host), "priority": mx.Pref}
		}
		return out, err
	case "srv":
		_, found, err := r.LookupSRV(ctx, "", "", name)
		out := make([]any, len(found))
		for i, srv := range found {
			out[i] = map[string]any{"name": bare(srv.Target), "port": srv.Port, "priority": srv.Priority, "weight": srv.Weight}
		}
		return out, err
	case "ptr":
		found, err := r.LookupAddr(ctx, name)
		for i := range found {
			found[i] = bare(found[i])
		}
		return found, err
	}
	return nil, fmt.Errorf("there are no records of the kind %q", kind)
}

// bare is a name without the dot of the root, as Node.js gives it.
func bare(name string) string { return strings.TrimSuffix(name, ".") }
