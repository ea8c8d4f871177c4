package access

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate limits the requests of callers.
type Rate struct {
	perMinute int

	mu      sync.Mutex
	buckets map[[2]string]*rate.Limiter
}

// maxBuckets bounds the number of callers that are tracked at once.
const maxBuckets = 10_000

// NewRate limits each caller to perMinute requests per minute for each application.
func NewRate(perMinute int) *Rate {
	return &Rate{perMinute: perMinute, buckets: map[[2]string]*rate.Limiter{}}
}

// PerMinute returns the number of requests per minute.
func (r *Rate) PerMinute() int { return r.perMinute }

// Wait returns the time until a caller may send its next request. It returns 0 if the request is allowed now, and
// counts it.
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
		r.evict(now)
		bucket = rate.NewLimiter(rate.Limit(float64(r.perMinute)/60), r.perMinute)
		r.buckets[who] = bucket
	}
	return bucket
}

// evict drops the buckets that have been idle for a minute, which are equivalent to new ones, and others if these are
// too few. r.mu must be held.
func (r *Rate) evict(now time.Time) {
	if len(r.buckets) < maxBuckets {
		return
	}
	// Drop the fullest buckets first: those callers gain least.
	for left := float64(r.perMinute); len(r.buckets) > maxBuckets*9/10; left /= 2 {
		for who, bucket := range r.buckets {
			if bucket.TokensAt(now) >= left || left < 0.01 {
				delete(r.buckets, who)
			}
		}
	}
}
