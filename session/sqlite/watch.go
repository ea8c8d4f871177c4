package sqlite

import (
	"context"
	"errors"
	"time"
)

// watchEvery is the interval of checks for changes of other processes.
const watchEvery = 200 * time.Millisecond

// Watch implements session.Leases. It does not know which sessions other processes
// have changed, so it reports every change as one of any session.
func (s *backend) Watch(ctx context.Context, changed func(hint uint64)) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for last := s.opened; ; {
		version, err := s.version(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errClosed):
			<-ctx.Done()
			return
		case err != nil || version != last: // after an error any change may have been missed
			last = version
			changed(0)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// version returns a number that changes when other connections have written. On the
// writer's connection, writes of this store do not count.
func (s *backend) version(ctx context.Context) (n int64, err error) {
	err = s.writer.submit(ctx, &op{outside: true, done: make(chan error, 1), do: func(c *conn) error {
		return c.one("PRAGMA data_version", nil, &n)
	}})
	return n, err
}
