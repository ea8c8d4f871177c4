package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/document"
	"github.com/parley-run/parley/session"
)

// Limits of listOverviews.
const (
	endsShown    = 4    // entries that are read of each end of a log
	maxSearched  = 1000 // sessions that one request searches
	searchedOnce = 100
	titleRunes   = 80
	previewRunes = 160
	// runsCounted is how many runs of a session are added up, the newest: each is a row to be read for each session of a
	// list, which the UI reads every few seconds. Most sessions have fewer.
	runsCounted = 20
)

// overview is what a list of sessions shows of one.
type overview struct {
	Session json.RawMessage `json:"session"`
	// Title is the display name, or the beginning of the first message.
	Title string `json:"title,omitempty"`
	// Preview is the beginning of the last text.
	Preview string `json:"preview,omitempty"`
	// EventCount is the number of events in the log.
	EventCount int64 `json:"eventCount"`
	// Status is that of the last run.
	Status session.Status `json:"status,omitempty"`
	// Usage is that of the newest runs; nil if there are none.
	Usage *runsUsage `json:"usage,omitempty"`
}

// runsUsage is what some runs of a session have used.
type runsUsage struct {
	// Runs is how many there are, up to runsCounted, and More says that there are older ones.
	Runs            int         `json:"runs"`
	More            bool        `json:"more,omitempty"`
	TotalTokenCount int64       `json:"totalTokenCount"`
	CostUSD         json.Number `json:"costUsd,omitempty"`
	UnpricedTokens  int64       `json:"unpricedTokens,omitempty"`
}

func usageOfRuns(runs []*session.Run, more bool) *runsUsage {
	var tokens event.Usage
	var cost session.Cost
	for _, run := range runs {
		tokens.Add(&run.Usage)
		cost.Add(run.Cost())
	}
	sum := countsOf(&tokens, cost)
	return &runsUsage{len(runs), more, sum.TotalTokenCount, sum.CostUSD, sum.UnpricedTokens}
}

// listOverviews lists the sessions of a user like listSessions, each with an overview. ?q= selects those with a text in
// their id or overview. It searches a limited number of sessions: the next page continues.
func (s *Server) listOverviews(w http.ResponseWriter, r *http.Request) error {
	owner := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	if err := owner.CheckOwner(); err != nil {
		return err
	}
	query := r.URL.Query()
	page, err := pageOf(query)
	if err == nil {
		page.Filter, err = filterOf(query)
	}
	if err != nil {
		return err
	}
	wanted := query.Get("q")
	if !isText(wanted) {
		return badParameter("query", "q", "must be text")
	}
	if page.Size == 0 {
		page.Size = defaultPage
	}
	rows, next, err := s.overviews(r.Context(), owner, page, strings.ToLower(wanted))
	if err == nil && len(rows) == 0 && next == "" {
		err = s.reachable(r.Context(), owner)
	}
	if err != nil {
		return err
	}
	linkNext(w, r, query, page, next)
	if rows == nil {
		rows = []overview{}
	}
	return answer(w, rows)
}

// overviews returns a page of sessions, of those that contain a text in lower case.
func (s *Server) overviews(ctx context.Context, owner session.Key, page session.Page, text string) (rows []overview, next string, err error) {
	size := page.Size
	page.Ends = endsShown
	if text != "" {
		page.Size = min(size, searchedOnce)
	}
	for searched := 0; ; page.Token = next {
		var list []*session.Session
		if list, next, err = s.Store.List(ctx, owner.App, owner.User, page); err != nil {
			return nil, "", err
		}
		for _, one := range list {
			row := overviewOf(one)
			if !row.contains(text) && !strings.Contains(strings.ToLower(one.ID), text) {
				continue
			}
			runs, older, err := s.Engine.Runs(ctx, one.Key, session.Page{Size: runsCounted})
			if err != nil {
				continue // it was deleted in the meantime
			}
			if len(runs) > 0 {
				row.Status = runs[0].Status
				row.Usage = usageOfRuns(runs, older != "")
			}
			one.Entries = nil
			row.Session = document.Session(nil, one)
			rows = append(rows, row)
		}
		searched += len(list)
		page.Size = min(size-len(rows), searchedOnce)
		if next == "" || page.Size <= 0 || searched >= maxSearched {
			return rows, next, nil
		}
	}
}

// overviewOf returns the overview of a session with the ends of its log, without what its runs tell.
func overviewOf(s *session.Session) overview {
	out := overview{Title: session.MetadataOf(s.State).Title, EventCount: s.Seq}
	for _, e := range s.Entries {
		if ev, err := e.Decode(); err == nil && ev.Author == event.User && out.Title == "" {
			out.Title = spoken(ev, titleRunes)
		}
	}
	for _, e := range slices.Backward(s.Entries) {
		if ev, err := e.Decode(); err == nil && out.Preview == "" {
			out.Preview = spoken(ev, previewRunes)
		}
	}
	return out
}

// spoken returns the beginning of the text of an event, on one line.
func spoken(ev *event.Event, limit int) string {
	if ev.Content == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range ev.Content.Parts {
		if !p.Thought && p.Text != "" {
			b.WriteString(p.Text + " ")
		}
	}
	text := []rune(strings.Join(strings.Fields(b.String()), " "))
	if len(text) > limit {
		return string(text[:limit-1]) + "…"
	}
	return string(text)
}

func (o *overview) contains(text string) bool {
	return strings.Contains(strings.ToLower(o.Title), text) || strings.Contains(strings.ToLower(o.Preview), text)
}
