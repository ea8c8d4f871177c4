package server

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/session"
)

// usageDays is the default range of the usage list; maxUsageDays is the longest that a query may ask for.
const (
	usageDays    = 30
	maxUsageDays = 366
)

// usage answers with the usage by day, application and user, or by what ?groupBy= names.
func (s *Server) usage(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	q, err := usageQuery(callerOf(r), query)
	if err != nil {
		return err
	}
	var bySession bool
	if q.By, bySession, err = usageGroups(append(query["groupBy"], query["group_by"]...)); err != nil {
		return err
	}
	page, err := pageOf(query)
	if err != nil {
		return err
	}
	page.Size = cmp.Or(page.Size, maxPage)
	if bySession {
		return s.usageOfSessions(w, r, q, page)
	}
	list, next, err := s.Store.Usage(r.Context(), q, page)
	if err != nil {
		return err
	}
	linkNext(w, r, query, page, next)
	out := make([]usageOf, len(list))
	for i := range list {
		out[i] = usageItem(&list[i], "")
	}
	return answer(w, out)
}

// usageQuery returns the application, the user and the days of a query, as far as the
// caller may see them.
func usageQuery(caller *access.Caller, query url.Values) (q session.UsageQuery, err error) {
	get := func(name, snake string) string { return cmp.Or(query.Get(name), query.Get(snake)) }
	q.App, q.User = get("appName", "app_name"), get("userId", "user_id")
	switch {
	case caller.May(access.Admin):
	case q.User != "" && !caller.Is(q.User):
		return q, sessionNotFound(q.User, "")
	case q.User == "" && caller.May(access.Users):
		return q, &httpError{status: http.StatusForbidden, message: "Forbidden: only administrators may list the usage of all users; name a user with ?userId="}
	case q.User == "":
		q.User = caller.User
	}
	for what, id := range map[string]string{"application name": q.App, "user id": q.User} {
		if id != "" {
			if err := session.CheckIdentifier(what, id); err != nil {
				return q, err
			}
		}
	}
	to, err := dayOf(query.Get("to"), "to", time.Now())
	if err != nil {
		return q, err
	}
	from, err := dayOf(query.Get("from"), "from", to.AddDate(0, 0, 1-usageDays))
	if err != nil {
		return q, err
	}
	if days := to.Sub(from).Hours() / 24; days < 0 || days >= maxUsageDays {
		return q, badParameter("query", "from", fmt.Sprintf("must not be after to, nor more than %d days before it", maxUsageDays))
	}
	q.From, q.To = session.DayOf(from), session.DayOf(to)
	return q, nil
}

func usageItem(u *session.Usage, id string) usageOf {
	return usageOf{u.Day, u.App, u.User, id, u.Runs, countsOf(&u.Tokens, u.Cost()), modelsOf(u.Models)}
}

// usageGroups returns what ?groupBy= names. Sessions are not in the ledger of the store.
func usageGroups(names []string) (by session.UsageGroups, bySession bool, err error) {
	for _, name := range names {
		switch name {
		case "session":
			bySession = true
		case "day":
			by |= session.ByDay
		case "app":
			by |= session.ByApp
		case "user":
			by |= session.ByUser
		default:
			return 0, false, badParameter("query", "groupBy", "must be day, app, user or session")
		}
	}
	return by, bySession, nil
}

// dayOf parses a day in UTC.
func dayOf(text, name string, other time.Time) (time.Time, error) {
	if text == "" {
		return other.UTC().Truncate(24 * time.Hour), nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 1970 {
		return day, badParameter("query", name, "must be a day, as in 2026-01-31")
	}
	return day, nil
}

// maxSummedRuns is the largest number of runs that are read for a list of sessions.
const maxSummedRuns = 100_000

// usageOfSessions answers with the usage of the sessions of an application, from their runs
// that have ended: the store counts by user. Each page reads all runs of the days again.
func (s *Server) usageOfSessions(w http.ResponseWriter, r *http.Request, q session.UsageQuery, page session.Page) error {
	if q.App == "" {
		return badParameter("query", "appName", "is required with groupBy=session")
	}
	if !s.Engine.CanFindRuns() {
		return errNoRunList
	}
	after, err := sessionUsageAfter(page.Token)
	if err != nil {
		return err
	}
	sums, err := sumSessions(s.runsOfDays(r.Context(), q), q.By != 0 && q.By.Has(session.ByDay), maxSummedRuns)
	if err != nil {
		return err
	}
	keys := slices.SortedFunc(maps.Keys(sums), sessionUsageKey.compare)
	if page.Token != "" {
		keys = slices.DeleteFunc(keys, func(k sessionUsageKey) bool { return k.compare(after) <= 0 })
	}
	if len(keys) > page.Size {
		keys = keys[:page.Size]
		linkNext(w, r, r.URL.Query(), page, keys[len(keys)-1].token())
	}
	out := make([]usageOf, len(keys))
	for i, key := range keys {
		out[i] = usageItem(sums[key], key.Session)
	}
	return answer(w, out)
}

// sumSessions adds the usage of runs by session, and perhaps by the days on which they
// began. More than most runs are an error.
func sumSessions(runs iter.Seq2[*session.Run, error], byDay bool, most int) (map[sessionUsageKey]*session.Usage, error) {
	sums := map[sessionUsageKey]*session.Usage{}
	read := 0
	for run, err := range runs {
		if err != nil {
			return nil, err
		}
		if read++; read > most {
			return nil, &httpError{status: http.StatusUnprocessableEntity, message: fmt.Sprintf(
				"These days have more than %d runs, which are too many to sum by session. Ask for fewer days with from and to, or for one user with userId.", most)}
		}
		key := sessionUsageKey{App: run.Key.App, User: run.Key.User, Session: run.Key.ID}
		if byDay {
			key.Day = session.DayOf(run.Created)
		}
		sum := sums[key]
		if sum == nil {
			sum = &session.Usage{UsageKey: session.UsageKey{Day: key.Day, App: key.App, User: key.User}}
			sums[key] = sum
		}
		sum.Add(&session.Usage{Runs: 1, Tokens: run.Usage, Models: run.Models})
	}
	return sums, nil
}

// runsOfDays returns the runs that began on the days of a query and that have ended, the
// newest first.
func (s *Server) runsOfDays(ctx context.Context, q session.UsageQuery) iter.Seq2[*session.Run, error] {
	ended := []session.Status{session.Waiting, session.Completed, session.Failed, session.Cancelled}
	return func(yield func(*session.Run, error) bool) {
		last, err := time.Parse(time.DateOnly, q.To)
		page := session.Page{Size: maxPage, Token: session.RunsBefore(last.AddDate(0, 0, 1))}
		for err == nil {
			var runs []*session.Run
			runs, page.Token, err = s.Engine.FindRuns(ctx, session.RunQuery{App: q.App, User: q.User, Statuses: ended}, page)
			for _, run := range runs {
				if session.DayOf(run.Created) < q.From || !yield(run, nil) {
					return
				}
			}
			if err == nil && page.Token == "" {
				return
			}
		}
		yield(nil, err)
	}
}

// sessionUsageKey is what the usage of sessions is ordered by. Its JSON is in tokens of
// pages.
type sessionUsageKey struct{ Day, App, User, Session string }

func (k sessionUsageKey) compare(other sessionUsageKey) int {
	return cmp.Or(cmp.Compare(k.Day, other.Day), cmp.Compare(k.App, other.App), cmp.Compare(k.User, other.User), cmp.Compare(k.Session, other.Session))
}

func (k sessionUsageKey) token() string {
	text, _ := json.Marshal(k) //nolint:errchkjson // strings cannot fail to encode
	return base64.RawURLEncoding.EncodeToString(text)
}

// sessionUsageAfter returns the key that a token stands for.
func sessionUsageAfter(token string) (k sessionUsageKey, err error) {
	if token == "" {
		return k, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || json.Unmarshal(text, &k) != nil || k.Session == "" {
		return k, session.ErrBadToken
	}
	return k, nil
}
