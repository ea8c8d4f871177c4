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
	turn := r.bucket(caller, app, now).ReserveN(now, 1)
	wait := turn.DelayFrom(now)
	if wait > 0 {
		turn.CancelAt(now)
	}
	return wait
}

// Exhausted reports whether a caller would have to wait.
func (r *Rate) Exhausted(caller, app string) bool {
	now := time.Now()
	return r.bucket(caller, app, now).TokensAt(now) < 1
}

func (r *Rate) bucket(caller, app string, now time.Time) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	who := [2]string{caller, app}
	bucket := r.buckets[who]
	if bucket == nil {
		r.makeRoom(now)
		bucket = rate.NewLimiter(rate.Limit(float64(r.perMinute)/60), r.perMinute)
		r.buckets[who] = bucket
	}
	return bucket
}

// makeRoom forgets those who have not come for a minute, who may come as often
// as new ones; if these are too few, others. It wants r.mu held.
func (r *Rate) makeRoom(now time.Time) {
	if len(r.buckets) < maxBuckets {
		return
	}
	// Of so many at once, who has come least loses least.
	for left := float64(r.perMinute); len(r.buckets) > maxBuckets*9/10; left /= 2 {
		for who, bucket := range r.buckets {
			if bucket.TokensAt(now) >= left || left < 0.01 {
				delete(r.buckets, who)
			}
		}
	}
}
