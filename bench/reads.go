package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/session"
)

// readSession compares reading a session of 2,000 events that is hot, from each
// place, with a bare server that writes the same bytes.
func readSession(ctx context.Context, b *bench) (results []result, err error) {
	for _, kind := range []string{inMemory, inSQLite, inPostgres} {
		found, err := b.readFrom(ctx, kind)
		if err != nil {
			return nil, err
		}
		results = append(results, found...)
	}
	return results, nil
}

// readsEach is how often a session is read in one round.
const readsEach = 50

func (b *bench) readFrom(ctx context.Context, kind string) ([]result, error) {
	w := getSession
	w.turns = b.read
	name := w.name
	where, drop, err := b.place(ctx, kind)
	if err != nil {
		return nil, err
	}
	defer drop()
	var both [2]*child
	var pools [2]pool
	for i, server := range []string{kindParley, kindBare} {
		if both[i], err = b.startOn(ctx, where, server, w, name+"-"+kind); err != nil {
			return nil, err
		}
		defer both[i].stop()
		if pools[i], err = newPool(both[i].addr, 1); err != nil {
			return nil, err
		}
		defer pools[i].Close()
	}
	const id = "recorded" // as the bare server has it
	if err := both[0].createAll(pools[0], w, []string{id}); err != nil {
		return nil, err
	}
	if err := pools[0].do(turns(runTurn, []string{id}, w.turns)); err != nil {
		return nil, err
	}
	if err := sameSize(pools, id); err != nil {
		return nil, err
	}
	var took, spent [2][]float64
	for round := range b.rounds + 1 {
		var seconds, cpu [2]float64
		for range parts {
			for i, c := range both {
				reads := make([]request, readsEach/parts)
				for j := range reads {
					reads[j] = w.request(id)
				}
				used, err := c.spend(ctx, func() (err error) {
					one, err := clock(ctx, func() error { return pools[i].do([][]request{reads}) })
					seconds[i] += one
					return err
				})
				if err != nil {
					return nil, err
				}
				cpu[i] += used
			}
		}
		if round > 0 { // the first one is to warm up
			for i := range both {
				took[i], spent[i] = append(took[i], seconds[i]/readsEach*1000), append(spent[i], cpu[i]/readsEach*1000)
			}
		}
		b.logf("%s: %s: round %d of %d: %s", name, kind, round, b.rounds, lastOf(took))
	}
	return []result{
		compared(name, fmt.Sprintf("ms for %d events, %s", 4*w.turns, kind), took[0], took[1], w.limit),
		compared(name, "CPU s per 1000, "+kind, spent[0], spent[1], 0),
	}, nil
}

// sameSize makes sure that the two servers write as much. Numbers in what they
// write, such as times, are not always equally long.
func sameSize(pools [2]pool, id string) error {
	var sizes [2]int
	for i, p := range pools {
		body, _, err := p[0].fetch(getSession.request(id))
		if err != nil {
			return err
		}
		sizes[i] = len(body)
	}
	if diff := sizes[0] - sizes[1]; diff*100 > sizes[1] || diff*100 < -sizes[1] {
		return fmt.Errorf("one server writes %d bytes, and the other %d", sizes[0], sizes[1])
	}
	return nil
}

// listPage measures how long the server takes for a page of 20 sessions of a
// user who has very many: the first page, and one in the middle.
func listPage(ctx context.Context, b *bench) (results []result, err error) {
	for _, kind := range []string{inSQLite, inPostgres} {
		found, err := b.listFrom(ctx, kind)
		if err != nil {
			return nil, err
		}
		results = append(results, found...)
	}
	return results, nil
}

// pagesEach is how often a page is read.
const pagesEach = 200

func (b *bench) listFrom(ctx context.Context, kind string) ([]result, error) {
	const name = "list_page"
	where, drop, err := b.place(ctx, kind)
	if err != nil {
		return nil, err
	}
	defer drop()
	began := time.Now()
	if err := fill(ctx, where, b.idle, b.clients); err != nil {
		return nil, err
	}
	b.logf("%s: %s has %d sessions after %v", name, kind, b.idle, time.Since(began))
	srv, err := parleyServer(openGate(), createSession, where)
	if err != nil {
		return nil, err
	}
	defer srv.Close(context.WithoutCancel(ctx))
	first := "/apps/" + weatherApp + "/users/" + user + "/sessions?pageSize=20"
	token, err := walk(ctx, srv.Handler(), b.idle/2)
	if err != nil {
		return nil, err
	}
	var results []result
	measure := func(page, path string) error {
		took, err := pages(ctx, srv.Handler(), path)
		if err != nil {
			return err
		}
		b.logf("%s: %s, %s: %.2f ms, 99th percentile %.2f", name, kind, page, percentile(took, 50), percentile(took, 99))
		results = append(results, result{
			Scenario: name, Unit: fmt.Sprintf("ms, %s of %d, %s", page, b.idle, kind),
			Parley: percentile(took, 50), ValueLimit: limitPage,
		})
		return nil
	}
	if kind == inPostgres {
		// As it is before the first time that autovacuum has come by, which it
		// does every minute.
		if err := measure("first page (before ANALYZE)", first); err != nil {
			return nil, err
		}
		if err := execPostgres(ctx, where, "VACUUM ANALYZE"); err != nil {
			return nil, err
		}
	}
	err = errors.Join(measure("first page", first), measure("page in the middle", first+"&pageToken="+token))
	return results, err
}

// pages is how long the handler takes for a page.
func pages(ctx context.Context, handler http.Handler, path string) (took []time.Duration, err error) {
	for i := range pagesEach + pagesEach/10 {
		out := httptest.NewRecorder()
		in := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		began := time.Now()
		handler.ServeHTTP(out, in)
		if i >= pagesEach/10 { // the others are to warm up
			took = append(took, time.Since(began))
		}
		if n := strings.Count(out.Body.String(), `"lastUpdateTime"`); n != 20 {
			return nil, fmt.Errorf("the page has %d sessions: %d: %s", n, out.Code, out.Body)
		}
	}
	return took, nil
}

// fill makes n sessions of one user.
func fill(ctx context.Context, where place, n, clients int) error {
	store, err := where.store(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	if strings.HasPrefix(where.url, inPostgres) {
		// It comes when it is told to, and not in the middle of a measurement.
		if err := execPostgres(ctx, where, "ALTER TABLE parley_sessions SET (autovacuum_enabled = off)"); err != nil {
			return err
		}
	}
	errs := make([]error, clients)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for j := i; j < n && errs[i] == nil; j += clients {
				key := session.Key{App: weatherApp, User: user, ID: fmt.Sprintf("0190a7c4-5a5b-7c3e-8f00-%012d", j)}
				_, errs[i] = store.Create(ctx, session.NewSession{Key: key, State: twoKeys})
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// walk is the token of the page that begins after n sessions.
func walk(ctx context.Context, handler http.Handler, n int) (token string, err error) {
	for n > 0 {
		size := min(n, 1000)
		n -= size
		path := fmt.Sprintf("/apps/%s/users/%s/sessions?pageSize=%d", weatherApp, user, size)
		if token != "" {
			path += "&pageToken=" + token
		}
		out, err := answers(ctx, handler, request{"GET", path, nil})
		if err != nil {
			return "", err
		}
		_, token, _ = strings.Cut(out.Header().Get("Link"), "pageToken=")
		if token, _, _ = strings.Cut(token, ">"); token == "" {
			return "", fmt.Errorf("no page follows: %s", out.Header())
		}
		token, _, _ = strings.Cut(token, "&")
	}
	return token, nil
}
