package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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
	faults *faults
	runs   []*tickerRun
	list   []*listener
	open   atomic.Int64
	ending atomic.Bool
	done   sync.WaitGroup
}

// tickerRun is a run that streams follow.
type tickerRun struct {
	path    string // of its session
	id      string
	on      string   // address of the server that works on it
	readers []string // addresses of the others
}

// follow starts the runs, and opens the streams.
func (s soak) follow(ctx context.Context, servers []*child, f *faults) (*listeners, error) {
	l := &listeners{soak: s, faults: f}
	for i := range s.tickers {
		run := &tickerRun{path: sessionPath(tickerApp, user, fmt.Sprintf("t-%d", i))}
		for j := range servers {
			run.readers = append(run.readers, servers[(i+j)%len(servers)].addr)
		}
		run.on = run.readers[0]
		if len(servers) > 1 {
			run.readers = run.readers[1:]
		}
		if err := run.start(s.tick); err != nil {
			return nil, err
		}
		l.runs = append(l.runs, run)
	}
	for i := range s.streams {
		run := l.runs[i%len(l.runs)]
		if err := l.listen(run, run.readers[i/len(l.runs)%len(run.readers)]); err != nil {
			l.close()
			return nil, errors.Join(err, ctx.Err())
		}
	}
	return l, nil
}

func (r *tickerRun) start(tick time.Duration) error {
	c, err := dial(r.on)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.do(request{"POST", r.path, smallState}); err != nil {
		return err
	}
	r.id, err = started(c, r.path+"/runs", strconv.FormatInt(tick.Milliseconds(), 10))
	return err
}

func (r *tickerRun) cancel() error {
	c, err := dial(r.on)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.do(request{"POST", r.path + "/runs/" + r.id + "/cancel", []byte("{}")})
}

// log returns the ids of the stored events of the run. They must be all ticks, in
// order, and the end.
func (r *tickerRun) log() (ids []string, err error) {
	c, err := dial(r.readers[0])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	doc, _, err := c.fetch(request{"GET", r.path, nil})
	if err != nil {
		return nil, err
	}
	var stored struct{ Events []soakEvent }
	if err := json.Unmarshal(doc, &stored); err != nil {
		return nil, err
	}
	for i, ev := range stored.Events {
		if i == 0 {
			continue // the message
		}
		if want := fmt.Sprintf("tick %d", i); ev.text() != want && (i < len(stored.Events)-1 || ev.ErrorCode == "") {
			return nil, fmt.Errorf("event %d of the log is %q, not %q", i, ev.text(), want)
		}
		ids = append(ids, ev.ID)
	}
	return ids, nil
}

// soakEvent is what of an event is looked at.
type soakEvent struct {
	ID        string
	Partial   bool
	ErrorCode string
	Content   struct{ Parts []struct{ Text string } }
}

func (e soakEvent) text() string {
	var all strings.Builder
	for _, p := range e.Content.Parts {
		all.WriteString(p.Text)
	}
	return all.String()
}

// listener is one stream.
type listener struct {
	*client
	run    *tickerRun
	events []string // ids of the stored events that have come
	pieces int      // of them, those whose text came in pieces before
	whole  int      // and those whose text did not, after the first
}

// listen opens a stream, and reads it.
func (l *listeners) listen(run *tickerRun, addr string) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	one := &listener{client: c, run: run}
	l.list = append(l.list, one)
	resp, err := c.send(request{"GET", run.path + "/runs/" + run.id + "/events", nil})
	if err != nil {
		return err
	}
	l.open.Add(1)
	l.done.Go(func() {
		defer l.open.Add(-1)
		if err := one.read(resp.Body, &l.ending); err != nil {
			l.faults.add(fmt.Errorf("a stream: %w", err))
		}
	})
	return nil
}

// read reads a stream to its end, which must not come before its time. Pieces must
// be those of the event that follows them.
func (l *listener) read(from io.Reader, ending *atomic.Bool) error {
	lines := bufio.NewReaderSize(from, 2048)
	pieces := ""
	for ended := false; ; {
		line, err := lines.ReadString('\n')
		switch {
		case errors.Is(err, io.EOF) && ended && ending.Load():
			return nil
		case err != nil:
			return fmt.Errorf("it broke after %d events: %w", len(l.events), err)
		case line == "event: end\n":
			ended = true
		case strings.HasPrefix(line, "data: ") && !ended:
			var ev soakEvent
			if err := json.Unmarshal([]byte(line[len("data: "):]), &ev); err != nil {
				return err
			}
			if ev.Partial {
				pieces += ev.text()
				continue
			}
			switch {
			case pieces == "" && (ev.text() == "" || len(l.events) == 0):
			case pieces == "":
				l.whole++
			case pieces == ev.text():
				l.pieces++
			default:
				return fmt.Errorf("the pieces of %.300s are %q", line, pieces)
			}
			pieces = ""
			l.events = append(l.events, ev.ID)
		}
	}
}

// end ends the runs, and waits for the ends of the streams.
func (l *listeners) end(ctx context.Context) error {
	l.ending.Store(true)
	for _, run := range l.runs {
		if err := run.cancel(); err != nil {
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
	for _, one := range l.list {
		one.abort()
	}
	l.done.Wait()
}

// heard is what streams have had.
type heard struct {
	events  int // that the log has
	pieces  int // of them, those whose text came in pieces before
	whole   int // and those whose text did not, after the first of a stream
	missing int // events of the log that did not come
	doubled int // that came again
	other   int // that came too early or too late, or that the log does not have
}

// compare compares what the streams have had with the logs of their runs. The streams
// must have ended.
func (l *listeners) compare() (h heard) {
	logs := map[*tickerRun][]string{}
	for _, run := range l.runs {
		var err error
		if logs[run], err = run.log(); err != nil {
			l.faults.add(err)
		}
	}
	for _, one := range l.list {
		h.add(one.events, logs[one.run])
		h.pieces += one.pieces
		h.whole += one.whole
	}
	return h
}

// add counts what one stream has had of a log.
func (h *heard) add(had, log []string) {
	next := 0
	seen := map[string]bool{}
	for _, id := range had {
		at := slices.Index(log[next:], id)
		switch {
		case seen[id]:
			h.doubled++
		case at < 0:
			h.other++
		default:
			h.events++
			next += at + 1
		}
		seen[id] = true
	}
	for _, id := range log {
		if !seen[id] {
			h.missing++
		}
	}
}
