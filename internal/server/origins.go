package server

import (
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync"
)

// originPattern is an origin of which a part, the *, may be anything.
type originPattern struct {
	before, after string
	exact         bool
}

// ValidOrigin reports whether a pattern, with one * or none, matches an origin
// that a browser can send.
func ValidOrigin(pattern string) bool {
	one := strings.Replace(strings.Replace(pattern, ":*", ":1", 1), "*", "x", 1) // a port is a number
	return pattern == "*" || strings.Count(pattern, "*") <= 1 && isOrigin(strings.ToLower(one))
}

// matchOrigins returns what tells whether one of the patterns matches an origin.
// What is not a whole origin is matched by none, whatever it begins or ends with.
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

// isOrigin reports whether a text is an origin as browsers write it: a scheme, a
// host and, unless it is the scheme's usual one, a port. The text has to be in
// lower case.
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

// only reports whether a text has nothing but small letters, digits and some
// more.
func only(text, more string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune(more, c)
	})
}

// refusedOrigins logs each origin that was refused once: the browser tells its
// user no more than that the server cannot be reached.
type refusedOrigins struct {
	mu   sync.Mutex
	seen map[string]bool
}

const (
	// maxRefusedOrigins bounds how many are logged: anybody can make them up.
	maxRefusedOrigins = 100
	// longestOrigin is how much of one is logged.
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
		log.Warn("a web page of another origin was refused; --allow_origins allows it; no more of these are logged", "origin", origin)
	default:
		log.Warn("a web page of another origin was refused; --allow_origins allows it", "origin", origin)
	}
}
