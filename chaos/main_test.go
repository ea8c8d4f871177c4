//go:build unix

package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/pgtest"
)

var (
	seedFlag = flag.Uint64("chaos.seed", 0, "what all decisions of the suite follow from; 0 for a new one each time")
	duration = flag.Duration("chaos.duration", 3*time.Second, "how long faults are injected, in each test")
	long     = flag.Bool("chaos.long", false, "also inject faults that take long, such as an outage of a quarter of a minute")
	keep     = flag.Bool("chaos.keep", false, "keep the logs of the servers, also when all is well")
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait for processes most of the time: all of them can do so at
	// once, however few processors there are.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	go build() // while Postgres starts
	testkit.Main(m, pgtest.Cleanup, func() {
		if binary, err := build(); err == nil {
			_ = os.RemoveAll(filepath.Dir(binary))
		}
	})
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "sessions.db"), nil, 1, 5)
	w.receive()
	w.play()
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	server, err := pgtest.New(t.Context(), pgtest.Options{NoSync: true}) // not the shared one, which stays up
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	w := newWorld(t, server.URL(), server, 3, 8, "--credential_key", string(vault.Generate()))
	w.receive()
	w.play()
}

// build builds the server, once, and tells where it is.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "parley-chaos-")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "fixture")
	cmd := exec.Command("go", "run", "-exec", "cp", "./fixture", binary) // see testkit.Build
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return binary, err
})

// world is everything that one test is about: servers, a database, clients, and
// what the clients remember.
type world struct {
	*testing.T
	seed     uint64
	lease    time.Duration
	db       string
	server   *pgtest.Server   // nil without Postgres
	second   *pgtest.Server   // nil with one database
	fault    func(*rand.Rand) // of the database, beside a restart; nil for none
	slow     atomic.Bool      // the machine is so busy that the database may have been away for longer than servers wait
	dir      string
	ledger   string
	replicas []*replica
	clients  int
	receiver *receiver // nil without webhooks

	start time.Time
	calm  chan struct{} // closed when faults and new messages end
	stop  context.Context

	mu            sync.Mutex
	history       []string // what was done to the servers
	conversations []*conversation
	words         int
}

// newWorld starts n servers on a database, with more arguments.
func newWorld(t *testing.T, db string, server *pgtest.Server, n, clients int, args ...string) *world {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64N(1_000_000)
	}
	w := &world{
		T: t, seed: seed, lease: time.Second, db: db, server: server, dir: t.TempDir(), clients: clients,
		start: time.Now(), calm: make(chan struct{}),
	}
	if *keep {
		dir, err := os.MkdirTemp("", "parley-chaos-logs-") //nolint:usetesting // it is to stay
		if err != nil {
			t.Fatal(err)
		}
		w.dir = dir
		t.Log("the logs of the servers are in ", dir)
	}
	w.ledger = filepath.Join(w.dir, "ledger")
	stop, cancel := context.WithCancel(context.Background())
	w.stop = stop
	binary, err := build()
	if err != nil {
		t.Fatalf("building the fixture: %v", err)
	}
	for i := range n {
		r := &replica{world: w, name: fmt.Sprintf("r%d", i), binary: binary, db: db, args: args}
		if i == n-1 && n > 1 {
			r.offset = time.Hour // its clock is wrong
		}
		if server != nil {
			r.db = r.through(db)
		}
		w.replicas = append(w.replicas, r)
	}
	t.Cleanup(func() {
		cancel()
		for _, r := range w.replicas {
			r.kill()
		}
		if t.Failed() {
			w.explain()
		}
	})
	for _, r := range w.replicas {
		if err := r.launch(); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// random is a source of its own for each who decides something, so that one does
// not depend on how far another one has come.
func (w *world) random(who string) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, c := range []byte(who) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(w.seed, h))
}

// did remembers what was done to the servers.
func (w *world) did(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history = append(w.history, fmt.Sprintf("%7.3f ", time.Since(w.start).Seconds())+fmt.Sprintf(format, args...))
}

// explain tells what was done, after a failure.
func (w *world) explain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Logf("do it again with: go test ./chaos -run '^%s$' -chaos.seed=%d -chaos.duration=%v -chaos.long=%v", w.Name(), w.seed, *duration, *long)
	for _, line := range w.history[max(0, len(w.history)-80):] {
		w.Log(line)
	}
	for _, r := range w.replicas {
		r.complain()
	}
}

// quiet is a limit for what should take a moment, on a machine that is busy.
const quiet = 5 * time.Minute

// play lets clients talk while faults are injected, waits until all is over, and
// looks at what is left.
func (w *world) play() {
	w.Logf("seed %d, lease %v, %v of faults", w.seed, w.lease, *duration)
	var wg sync.WaitGroup
	for i := range w.clients {
		c := &client{world: w, name: fmt.Sprintf("c%d", i), random: w.random(fmt.Sprint("client", i))}
		wg.Go(c.live)
	}
	w.torment()
	close(w.calm)
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(quiet + 30*time.Second):
		w.unfinished()
		w.Fatal("clients are not done")
	}
	store := w.open()
	w.settle(store)
	if w.receiver != nil {
		w.receiver.delivered(store)
		w.receiver.check(store)
	}
	for _, r := range w.replicas {
		r.terminate()
	}
	w.check(store)
}
