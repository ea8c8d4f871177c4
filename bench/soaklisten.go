package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// tickerApp has runs that do not end by themselves.
const tickerApp = "ticker"

// listeners are streams that stay open.
type listeners struct {
	soak
	addr    string
	faults  *faults
	paths   []string // of the runs that they follow
	streams []*client
	open    atomic.Int64
	heard   atomic.Int64 // events
	ending  atomic.Bool
	done    sync.WaitGroup
}

// follow starts the runs, and opens the streams.
func (s soak) follow(ctx context.Context, addr string, f *faults) (*listeners, error) {
	l := &listeners{soak: s, addr: addr, faults: f}
	starter, err := dial(addr)
	if err != nil {
		return nil, err
	}
	defer starter.Close()
	for i := range s.tickers {
		session := fmt.Sprintf("t-%d", i)
		if err := starter.do(create(tickerApp, user, session)); err != nil {
			return nil, err
		}
		path := sessionPath(tickerApp, user, session) + "/runs"
		id, err := started(starter, path, strconv.FormatInt(s.tick.Milliseconds(), 10))
		if err != nil {
			return nil, err
		}
		l.paths = append(l.paths, path+"/"+id)
	}
	for i := range s.streams {
		if err := l.listen(l.paths[i%len(l.paths)]); err != nil {
			l.close()
			return nil, errors.Join(err, ctx.Err())
		}
	}
	return l, nil
}

// listen opens a stream, and reads it.
func (l *listeners) listen(path string) error {
	c, err := dial(l.addr)
	if err != nil {
		return err
	}
	l.streams = append(l.streams, c)
	resp, err := c.send(request{"GET", path + "/events", nil})
	if err != nil {
		return err
	}
	l.open.Add(1)
	l.done.Go(func() {
		defer l.open.Add(-1)
		if err := l.read(resp.Body); err != nil {
			l.faults.add(fmt.Errorf("a stream: %w", err))
		}
	})
	return nil
}

// read reads a stream to its end. Every event must come, once and in order.
func (l *listeners) read(from io.Reader) error {
	lines := bufio.NewReaderSize(from, 2048)
	for next, ended := 1, false; ; {
		line, err := lines.ReadString('\n')
		switch {
		case errors.Is(err, io.EOF) && ended && l.ending.Load():
			return nil
		case err != nil:
			return fmt.Errorf("it broke after %d events: %w", next-1, err)
		case line == "event: end\n":
			ended = true
		case l.ending.Load() && strings.Contains(line, `"errorCode":"INVOCATION_ABORTED"`):
			// Its run was cancelled, and says so.
		case strings.HasPrefix(line, "data: ") && !ended:
			if !strings.Contains(line, fmt.Sprintf(`"tick %d"`, next)) {
				return fmt.Errorf("event %d is %.300s", next, line)
			}
			next++
			l.heard.Add(1)
		}
	}
}

// end ends the runs, and waits for the ends of the streams.
func (l *listeners) end(ctx context.Context) error {
	l.ending.Store(true)
	c, err := dial(l.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, path := range l.paths {
		if err := c.do(request{"POST", path + "/cancel", []byte("{}")}); err != nil {
			return err
		}
	}
	ended := make(chan struct{})
	go func() {
		l.done.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(time.Minute):
		return errors.New("streams do not end with their runs")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *listeners) close() {
	for _, c := range l.streams {
		c.abort()
	}
	l.done.Wait()
}
