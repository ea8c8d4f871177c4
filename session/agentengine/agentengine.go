// Package agentengine keeps sessions with the managed session service of Google
// Cloud's Agent Engine.
//
// The service keeps sessions: who they belong to, their state, and an
// append-only list of events. It knows nothing of runs, epochs or leases, and it
// cannot refuse a writer that has been overtaken. So a session.Memory stands in
// front of it, which has the sessions in use and everything that the service has
// no place for: runs, journals, logins, what is remembered, what was used. Those
// are this process's, and gone with it.
//
//   - An event counts when the service has taken it: it is sent there first, and
//     only then becomes a part of the log here.
//   - When a session is read, or a run begins, and no run of this process is at
//     work in it, the service is asked for what others have written.
//   - A call that fails may have been done all the same. What a run has sent so is
//     looked for before it writes, reads or ends.
//   - A run that ended with its process leaves calls without an answer; the next
//     one that begins answers them as interrupted.
//
// What the session.Store contract asks for beyond that holds within one process.
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
)

// backend keeps sessions at the service, behind a Memory.
type backend struct {
	*session.Memory
	client *client
	log    *slog.Logger

	mu           sync.Mutex
	mirrors      map[session.Key]*mirror
	loaded       *lru.Cache[session.Key, *mirror] // those whose session the memory holds
	sharedStates map[string]*sharedState
}

var _ session.Backend = (*backend)(nil)

// Options of a store.
type Options struct {
	// URL is agentengine://projects/P/locations/L/reasoningEngines/ID, or
	// agentengine://ID with the project and the location in the environment.
	// With ?endpoint=http://host it is an emulator, which wants no credentials.
	URL    string
	Getenv func(string) string
	Log    *slog.Logger
	// pace is for tests.
	pace *pace
}

// maxBytes is how many bytes of logs are kept for sessions in use.
const maxBytes = 256 << 20

// Open connects to the service, and makes sure that it can be used.
func Open(ctx context.Context, o Options) (session.Store, error) {
	client, err := newClient(&o)
	if err != nil {
		return session.Store{}, err
	}
	if err := client.check(ctx); err != nil {
		return session.Store{}, err
	}
	o.Log.Warn("sessions are kept by a managed service: their events and state last; runs under way, logins, memory and usage "+
		"end with this process, and nothing keeps two servers from working on one session at the same time", "engine", client.engine)
	return session.NewStore(newBackend(client, o.Log, 0)), nil
}

func newBackend(c *client, log *slog.Logger, lease time.Duration) *backend {
	return &backend{
		Memory: session.NewMemoryBackend(lease), client: c, log: log,
		mirrors: map[session.Key]*mirror{}, loaded: lru.New[session.Key, *mirror](maxBytes), sharedStates: map[string]*sharedState{},
	}
}

// Close gives back connections.
func (s *backend) Close() error {
	s.client.http.CloseIdleConnections()
	return nil
}

// Scheme is what the URLs of such stores begin with.
const Scheme = "agentengine"

// Names of resources become parts of addresses, one of them of the host's name.
var (
	engineName = regexp.MustCompile(`^projects/([a-z0-9][a-z0-9.:-]*)/locations/([a-z0-9-]+)/reasoningEngines/([0-9]+)$`)
	engineID   = regexp.MustCompile(`^[0-9]+$`)
)

// Resource is the full name of an engine, of which only the number may be given.
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

// target reads the URL of a store: the engine, the base of its addresses, and
// whether it is an emulator.
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
