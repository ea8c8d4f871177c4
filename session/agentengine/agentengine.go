// Package agentengine stores sessions in the managed session service of Google
// Cloud's Agent Engine. A server uses it for a URL such as agentengine://1234567890
// in parley.Config.Sessions, if the program imports it:
//
//	import _ "github.com/parley-run/parley/session/agentengine"
//
// The service stores sessions: their owner, their state, and an append-only list of
// events. It has no runs, epochs or leases, and it cannot refuse an outdated writer.
// Therefore a memstore.Backend in front of it holds the sessions in use and everything
// that the service cannot store: runs, journals, logins, memories, usage. Those
// belong to this process, and are lost with it.
//
//   - An event counts when the service has accepted it: it is sent there first, and
//     only then added to the log here.
//   - When a session is read, or a run begins, and no run of this process is active
//     in it, the entries of other processes are read from the service.
//   - A call that fails may have taken effect. Before a run writes, reads or ends,
//     its uncertain events are searched for.
//   - A run that ended with its process leaves calls without an answer; the next
//     run answers them as interrupted.
//
// The rest of the session.Store contract holds within one process.
package agentengine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/lru"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// backend stores sessions in the service, behind a memstore.Backend.
type backend struct {
	*memstore.Backend
	client *client
	log    *slog.Logger

	mu           sync.Mutex
	mirrors      map[session.Key]*mirror
	loaded       *lru.Cache[session.Key, *mirror] // those whose session the memory holds
	sharedStates map[string]*sharedState
}

var _ session.Backend = (*backend)(nil)

// Options configures Open.
type Options struct {
	// URL is agentengine://projects/P/locations/L/reasoningEngines/ID, or
	// agentengine://ID with the project and the location in the environment. With
	// ?endpoint=http://host it is an emulator, which needs no credentials.
	URL string
	// Getenv returns an environment variable. nil means that there is no environment.
	Getenv func(string) string
	// Log receives warnings. nil means that they are discarded.
	Log *slog.Logger
	// pace is for tests.
	pace *pace
}

// maxBytes bounds the size of the logs of sessions in use.
const maxBytes = 256 << 20

// Open connects to the service, and checks that it can be used.
func Open(ctx context.Context, o Options) (session.Store, error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	client, err := newClient(&o)
	if err != nil {
		return session.Store{}, err
	}
	if err := client.check(ctx); err != nil {
		return session.Store{}, err
	}
	o.Log.Warn("sessions are kept by a managed service: their events and state last; runs in progress, logins, memory and usage "+
		"end with this process, and nothing keeps two servers from working on one session at the same time", "engine", client.engine)
	store := session.NewStore(newBackend(client, o.Log, 0))
	// The memory has only the sessions in use: it would find some, and look as if these were all.
	store.Searcher, store.Feedback, store.RunLister = nil, nil, nil
	return store, nil
}

func newBackend(c *client, log *slog.Logger, lease time.Duration) *backend {
	return &backend{
		Backend: memstore.NewBackend(lease), client: c, log: log,
		mirrors: map[session.Key]*mirror{}, loaded: lru.New[session.Key, *mirror](maxBytes), sharedStates: map[string]*sharedState{},
	}
}

// Close releases connections.
func (s *backend) Close() error {
	s.client.http.CloseIdleConnections()
	return nil
}

// Scheme is the URL scheme of such stores.
const Scheme = "agentengine"

// Names of resources become parts of URLs, one of them of the host name.
var (
	engineName = regexp.MustCompile(`^projects/([a-z0-9][a-z0-9.:-]*)/locations/([a-z0-9-]+)/reasoningEngines/([0-9]+)$`)
	engineID   = regexp.MustCompile(`^[0-9]+$`)
)

// Resource returns the full name of an engine, which may be given by its number
// only.
func Resource(name, project, location string) (string, error) {
	if engineID.MatchString(name) {
		if project == "" || location == "" {
			return "", errors.New("the project and the location of the engine are not known: give its full name, " +
				"projects/P/locations/L/reasoningEngines/ID, or set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION")
		}
		name = fmt.Sprintf("projects/%s/locations/%s/reasoningEngines/%s", project, location, name)
	}
	if !engineName.MatchString(name) {
		return "", errors.New("it must be the number of an engine, or projects/P/locations/L/reasoningEngines/ID")
	}
	return name, nil
}

// target parses the URL of a store: the engine, its base URL, and whether it is an
// emulator.
func target(text string, getenv func(string) string) (engine, base string, emulated bool, err error) {
	rest, _ := strings.CutPrefix(text, Scheme+":")
	rest, query, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "?")
	if engine, err = Resource(strings.TrimSuffix(rest, "/"), getenv("GOOGLE_CLOUD_PROJECT"), getenv("GOOGLE_CLOUD_LOCATION")); err != nil {
		return "", "", false, fmt.Errorf("%s: %w", Scheme, err)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", "", false, fmt.Errorf("%s: what comes after the ? cannot be read", Scheme)
	}
	if endpoint := values.Get("endpoint"); endpoint != "" {
		return engine, strings.TrimSuffix(endpoint, "/"), true, nil
	}
	location := engineName.FindStringSubmatch(engine)[2]
	host := location + "-aiplatform.googleapis.com"
	if location == "global" {
		host = "aiplatform.googleapis.com"
	}
	return engine, "https://" + host, false, nil
}
