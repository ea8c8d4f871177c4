package a2a

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/session"
)

// The bounds of a list: of the newest sessions, so many of the newest runs.
const (
	listSessions = 200
	listRuns     = 100

	defaultPage = 50
	maxPage     = 100
)

// listRequest asks for the tasks of a user.
type listRequest struct {
	Context   string     `json:"contextId"`
	Status    string     `json:"status"`
	PageSize  *int       `json:"pageSize"`
	PageToken string     `json:"pageToken"`
	History   *int       `json:"historyLength"`
	After     *time.Time `json:"statusTimestampAfter"`
	Artifacts bool       `json:"includeArtifacts"`
}

// query reads the parameters of a request.
type query struct {
	url.Values
	err error
}

func queryOf(r *http.Request) *query { return &query{Values: r.URL.Query()} }

// number returns a number, nil if there is none.
func (q *query) number(name string) *int {
	text := q.Get(name)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		q.err = invalid(name, "%s must be a number", name)
	}
	return &n
}

func restList(x *exchange) error {
	q := queryOf(x.r)
	req := &listRequest{
		Context: q.Get("contextId"), Status: q.Get("status"), PageSize: q.number("pageSize"), PageToken: q.Get("pageToken"),
		History: q.number("historyLength"), Artifacts: q.Get("includeArtifacts") == "true",
	}
	if text := q.Get("statusTimestampAfter"); text != "" {
		after, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return invalid("statusTimestampAfter", "statusTimestampAfter must be a time such as 2026-01-02T15:04:05Z")
		}
		req.After = &after
	}
	if q.err != nil {
		return q.err
	}
	return x.list(req)
}

func (x *exchange) listTasks(doc []byte) error {
	var req listRequest
	if err := decode(doc, &req); err != nil {
		return err
	}
	return x.list(&req)
}

// listed is a task of a list.
type listed struct {
	id   string
	task *face.Task // its rows, and its events if they were read
	time time.Time
}

// before is the order of a list: the newest status first.
func (l *listed) before(other *listed) int {
	return cmp.Or(other.time.Compare(l.time), strings.Compare(l.id, other.id))
}

// token returns what identifies the place of a task in a list.
func (l *listed) token() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(l.time.UnixMicro(), 10) + " " + l.id))
}

// placeOf returns the place that a token identifies.
func placeOf(token string) (*listed, error) {
	doc, err := base64.RawURLEncoding.DecodeString(token)
	number, id, ok := strings.Cut(string(doc), " ")
	micros, failed := strconv.ParseInt(number, 10, 64)
	if err != nil || failed != nil || !ok {
		return nil, invalid("pageToken", "The page token is not one that a list has returned")
	}
	return &listed{id: id, time: time.UnixMicro(micros)}, nil
}

// list answers with a page of the tasks of a user.
func (x *exchange) list(req *listRequest) error {
	size := defaultPage
	if req.PageSize != nil {
		if size = *req.PageSize; size < 1 || size > maxPage {
			return invalid("pageSize", "pageSize must be a number from 1 to %d", maxPage)
		}
	}
	if req.History != nil && *req.History < 0 {
		return invalid("historyLength", "historyLength must not be negative")
	}
	if s := state(req.Status); req.Status != "" && !slices.Contains([]state{submitted, working, completed, failed, canceled, rejected, inputRequired, authRequired}, s) {
		return invalid("status", "There is no state %s", req.Status)
	}
	all, err := x.tasks(req)
	if err != nil {
		return err
	}
	total := len(all)
	if req.PageToken != "" {
		place, err := placeOf(req.PageToken)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(l *listed) bool { return l.before(place) <= 0 })
	}
	next := ""
	if len(all) > size {
		all = all[:size]
		next = all[size-1].token()
	}
	o := &object{dst: []byte{'{'}, v: x.v}
	o.key("tasks")
	o.dst = append(o.dst, '[')
	for i, l := range all {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		shown, err := x.shown(req, l)
		if err != nil {
			return err
		}
		o.task(shown)
	}
	o.dst = append(o.dst, ']')
	o.key("totalSize")
	o.dst = strconv.AppendInt(o.dst, int64(total), 10)
	o.key("pageSize")
	o.dst = strconv.AppendInt(o.dst, int64(size), 10)
	o.string("nextPageToken", next)
	return x.reply(append(o.dst, '}'))
}

// shown returns a task as a list has it: with as much as was asked for.
func (x *exchange) shown(req *listRequest, l *listed) (*task, error) {
	history := req.History
	if history == nil {
		history = new(int)
	}
	t := l.task
	if (req.Artifacts || *history > 0) && t.Entries == nil {
		first := t.Runs[0]
		var err error
		if t, err = face.ReadTask(x.ctx(), x.handler, first.Key, first.ID); err != nil {
			return nil, err
		}
	}
	return x.view(x.ctx(), l.id, t, history, req.Artifacts)
}

// tasks returns the tasks that a list has, in order.
func (x *exchange) tasks(req *listRequest) ([]*listed, error) {
	rows, err := x.rows(req.Context)
	if err != nil {
		return nil, err
	}
	var all []*listed
	for _, t := range grouped(rows) {
		if t.Status() == session.Waiting { // the log tells which run answers it
			first := t.Runs[0]
			if t, err = face.ReadTask(x.ctx(), x.handler, first.Key, first.ID); err != nil {
				return nil, err
			}
		}
		row := t.Last()
		l := &listed{id: taskID(row.Key, t.Runs[0].ID), task: t, time: row.Created}
		if row.Status.Ended() && !row.Ended.IsZero() {
			l.time = row.Ended
		}
		if req.After != nil && !l.time.After(*req.After) {
			continue
		}
		if req.Status != "" {
			st, err := x.status(x.ctx(), l.id, t, row)
			if err != nil {
				return nil, err
			}
			if st.state != state(req.Status) {
				continue
			}
		}
		all = append(all, l)
	}
	all = merged(all)
	slices.SortFunc(all, (*listed).before)
	return all, nil
}

// merged returns a list without runs that are part of another task in it: a run that
// answers another one has no other sign of it while it is active.
func merged(all []*listed) []*listed {
	later := map[string]bool{}
	for _, l := range all {
		for _, row := range l.task.Runs[1:] {
			later[row.ID] = true
		}
	}
	return slices.DeleteFunc(all, func(l *listed) bool { return later[l.task.Runs[0].ID] })
}

// rows returns the newest runs of a user, or those of one context.
func (x *exchange) rows(id string) ([]*session.Run, error) {
	if id == "" {
		return x.Engine().RecentRuns(x.ctx(), x.app, x.who.User, listSessions, listRuns)
	}
	key := session.Key{App: x.app, User: x.who.User, ID: id}
	if err := key.Check(); err != nil {
		return nil, invalid("contextId", "%v", err)
	}
	rows, _, err := x.Engine().Runs(x.ctx(), key, session.Page{Size: listRuns})
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil
	}
	return rows, err
}

// grouped returns the tasks that runs are part of, as far as their rows tell.
func grouped(rows []*session.Run) []*face.Task {
	rows = slices.SortedFunc(slices.Values(rows), func(a, b *session.Run) int { return cmp.Compare(a.Number, b.Number) })
	var all []*face.Task
	of := map[session.Key]map[string]*face.Task{}
	for _, row := range rows {
		if row.First == 0 && row.Status == session.Completed {
			continue // it has rewound the session
		}
		known := of[row.Key]
		if known == nil {
			known = map[string]*face.Task{}
			of[row.Key] = known
		}
		t := known[row.Resumes]
		if t == nil {
			t = &face.Task{}
			all = append(all, t)
		}
		t.Runs = append(t.Runs, row)
		known[row.ID] = t
	}
	return all
}
