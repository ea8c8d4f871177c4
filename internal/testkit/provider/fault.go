package provider

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// Fault is how requests for a path go wrong. What is set happens in the order of
// the fields; a fault that answers nothing lets the request pass in the end.
type Fault struct {
	// Delay is how long a request is kept waiting.
	Delay time.Duration
	// Hang keeps a request until the fault is repaired, the client goes away, or the
	// provider is closed.
	Hang bool
	// Status is what to answer; without it, the request is served as usual.
	Status int
	// Body goes with the status. It is JSON.
	Body string
	// Times is how many requests the fault is for; without it, for all until it is
	// repaired.
	Times int
}

// OAuthError is a fault that answers as the token endpoint does when it refuses,
// with a code such as invalid_grant or temporarily_unavailable.
func OAuthError(code, description string) Fault {
	body, _ := json.Marshal(map[string]string{"error": code, "error_description": description}) //nolint:errchkjson // strings always encode
	return Fault{Status: http.StatusBadRequest, Body: string(body)}
}

// Broken is a fault in force.
type Broken struct {
	fault    Fault
	left     int
	reached  chan struct{}
	repaired chan struct{}
	all      *faults
	path     string
}

// Break puts a fault in force for all requests for a path, in place of the one
// that was there before.
func (p *Provider) Break(path string, fault Fault) *Broken {
	b := &Broken{
		fault: fault, left: fault.Times, path: path, all: &p.faults,
		reached: make(chan struct{}), repaired: make(chan struct{}),
	}
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	if p.faults.of == nil {
		p.faults.of = map[string]*Broken{}
	}
	if before := p.faults.of[path]; before != nil {
		before.release()
	}
	p.faults.of[path] = b
	return b
}

// Repair ends the fault and releases the requests that it holds. It may be called twice.
func (b *Broken) Repair() {
	b.all.mu.Lock()
	defer b.all.mu.Unlock()
	b.release()
	if b.all.of[b.path] == b {
		delete(b.all.of, b.path)
	}
}

// Reached is closed when the first request has met the fault.
func (b *Broken) Reached() <-chan struct{} { return b.reached }

// release releases the requests. The caller must hold the lock.
func (b *Broken) release() { closeOnce(b.repaired) }

// closeOnce closes a channel that has no senders. The caller must hold the lock.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// faults are those in force, by path.
type faults struct {
	mu sync.Mutex
	of map[string]*Broken
}

// find returns the fault that a request meets, if there is one.
func (f *faults) find(path string) *Broken {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.of[path]
	if b == nil {
		return nil
	}
	closeOnce(b.reached)
	if b.left--; b.left == 0 {
		delete(f.of, path)
	}
	return b
}

// meet lets a request meet the fault of its path. It returns whether the request
// is to be served.
func (f *faults) meet(w http.ResponseWriter, r *http.Request) bool {
	b := f.find(r.URL.Path)
	if b == nil {
		return true
	}
	if b.fault.Delay > 0 {
		timer := time.NewTimer(b.fault.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-b.repaired:
		case <-r.Context().Done():
			return false
		}
	}
	if b.fault.Hang {
		select {
		case <-b.repaired:
		case <-r.Context().Done():
			return false
		}
	}
	if b.fault.Status == 0 {
		return true
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(b.fault.Status)
	_, _ = w.Write([]byte(b.fault.Body))
	return false
}
