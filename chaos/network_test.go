//go:build unix

package chaos

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/internal/testkit/badnet"
)

// network is all that is between a server and its database.
type network []*badnet.Proxy

func (n network) bad(yes bool) {
	for _, p := range n {
		p.Bad.Store(yes)
	}
}

func (n network) stall(yes bool) {
	for _, p := range n {
		p.Stalled.Store(yes)
	}
}

func (n network) cut() {
	for _, p := range n {
		p.Cut()
	}
}

func (n network) cuts() (all int64) {
	for _, p := range n {
		all += p.Cuts.Load()
	}
	return all
}

// through makes a network to the first of some databases, which may have several
// addresses, and one for the connection that listens. It returns the URLs for the
// server.
func (r *replica) through(db string) string {
	w, urls := r.world, sessionrt.URLs(db)
	u, err := url.Parse(urls[0])
	if err != nil {
		w.Fatal(err)
	}
	proxied := func(addresses string) string {
		var list []string
		for address := range strings.SplitSeq(addresses, ",") {
			p := badnet.New(w.T, address, w.random(fmt.Sprint("proxy", r.name, len(r.network))))
			r.network = append(r.network, p)
			list = append(list, p.Addr())
		}
		return strings.Join(list, ",")
	}
	u.Host = proxied(u.Host)
	query := u.Query()
	if hosts := query.Get("listen_hosts"); hosts != "" {
		query.Set("listen_hosts", proxied(hosts))
		u.RawQuery = query.Encode()
	}
	urls[0] = u.String()
	return strings.Join(urls, ",")
}
