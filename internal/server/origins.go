package server

import (
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync"
)

// originPattern is an origin with a wildcard.
type originPattern struct {
	before, after string
	exact         bool
}

// ValidOrigin reports whether a pattern with at most one * matches an origin that a browser can send.
func ValidOrigin(pattern string) bool {
	one := strings.Replace(strings.Replace(pattern, ":*", ":1", 1), "*", "x", 1) // a port is a number
	return pattern == "*" || strings.Count(pattern, "*") <= 1 && isOrigin(strings.ToLower(one))
}

// matchOrigins returns a function that reports whether a pattern matches an origin. Text that is not a complete origin
// matches none.
func matchOrigins(patterns []string) func(origin string) bool {
	var list []originPattern
	for _, pattern := range patterns {
		before, after, found := strings.Cut(strings.ToLower(pattern), "*")
		list = append(list, originPattern{before, after, !found})
	}
	return func(origin string) bool {
		origin = strings.ToLower(origin)
		if !isOrigin(origin) {
			return false
		}
		for _, p := range list {
			if origin == p.before && p.exact || !p.exact && len(origin) >= len(p.before)+len(p.after) &&
				strings.HasPrefix(origin, p.before) && strings.HasSuffix(origin, p.after) {
				return true
			}
		}
		return false
	}
}

// isOrigin reports whether text is an origin as browsers serialize it: a scheme, a host and, unless it is the default,
// a port. The text must be in lower case.
func isOrigin(text string) bool {
	scheme, host, ok := strings.Cut(text, "://")
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		port := host[i+1:]
		host = host[:i]
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || port[0] == '0' || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
			return false
		}
	}
	return ok && scheme != "" && scheme[0] >= 'a' && scheme[0] <= 'z' && only(scheme, "+-.") && isHost(host)
}

func isHost(host string) bool {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		address, err := netip.ParseAddr(inner)
		return ok && err == nil && address.Is6() && address.Zone() == ""
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		if label == "" || !only(label, "-_") {
			return false
		}
	}
	return true
}

// only reports whether text consists of lower-case letters, digits and the characters of more.
func only(text, more string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune(more, c)
	})
}

// refusedOrigins logs each refused origin once. It is the only hint: the browser reports no more than that the server
// cannot be reached.
type refusedOrigins struct {
	mu   sync.Mutex
	seen map[string]bool
}

const (
	// maxRefusedOrigins bounds the number of logged origins, because clients can invent them.
	maxRefusedOrigins = 100
	// longestOrigin is the number of bytes of an origin that are logged.
	longestOrigin = 200
)

func (o *refusedOrigins) log(log *slog.Logger, origin string) {
	origin = origin[:min(len(origin), longestOrigin)]
	o.mu.Lock()
	count, seen := len(o.seen), o.seen[origin]
	if !seen && count < maxRefusedOrigins {
		if o.seen == nil {
			o.seen = map[string]bool{}
		}
		o.seen[origin] = true
	}
	o.mu.Unlock()
	switch {
	case seen || count >= maxRefusedOrigins:
	case count == maxRefusedOrigins-1:
		log.Warn("refused a request from another origin; --allow_origins allows it; no more of these are logged", "origin", origin)
	default:
		log.Warn("refused a request from another origin; --allow_origins allows it", "origin", origin)
	}
}
