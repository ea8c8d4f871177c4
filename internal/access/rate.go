package access

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate lets everybody come so often.
type Rate struct {
	perMinute int

	mu      sync.Mutex
	buckets map[[2]string]*rate.Limiter
}

// maxBuckets is how many callers are counted at once.
const maxBuckets = 10_000

// NewRate lets each caller come so often in a minute, for each application.
func NewRate(perMinute int) *Rate {
	return &Rate{perMinute: perMinute, buckets: map[[2]string]*rate.Limiter{}}
}

// Wait is how long a caller has to wait before it may come again; 0 when it may
// now, which then counts.
func (r *Rate) Wait(caller, app string) time.Duration {
	now := time.Now()
	r.mu.Lock()
	who := [2]string{caller, app}
	bucket := r.buckets[who]
	if bucket == nil {
		r.makeRoom(now)
		bucket = rate.NewLimiter(rate.Limit(float64(r.perMinute)/60), r.perMinute)
		r.buckets[who] = bucket
	}
	r.mu.Unlock()
	turn := bucket.ReserveN(now, 1)
	wait := turn.DelayFrom(now)
	if wait > 0 {
		turn.CancelAt(now)
	}
	return wait
}

// makeRoom forgets those who have not come for a minute: they may come as often
// as new ones. It wants r.mu held.
func (r *Rate) makeRoom(now time.Time) {
	if len(r.buckets) < maxBuckets {
		return
	}
	for who, bucket := range r.buckets {
		if bucket.TokensAt(now) >= float64(r.perMinute) {
			delete(r.buckets, who)
		}
	}
	if len(r.buckets) >= maxBuckets { // so many at once are no callers
		clear(r.buckets)
	}
}
