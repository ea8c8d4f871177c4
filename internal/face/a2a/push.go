package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/outbox"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// pushKind is the kind of the subscriptions of this face. Their label is the id of the
// task.
const pushKind = "a2a"

// maxPush bounds the configs of a task, and maxPushSession those of all tasks of a
// session: every change of a run is noted for each of them.
const (
	maxPush        = 10
	maxPushSession = 100
)

// pushConfig says where the updates of a task are sent to. It is sealed in the store.
type pushConfig struct {
	ID          string `json:"id"`
	URL         string `json:"url"`
	Token       string `json:"token,omitempty"`
	Scheme      string `json:"scheme,omitempty"`
	Credentials string `json:"credentials,omitempty"`
	// Old is for a receiver of version 0.3.
	Old bool `json:"old,omitempty"`
}

// pushIn is a config as clients of either version send it.
type pushIn struct {
	ID    string `json:"id"`
	URL   string `json:"url"`
	Token string `json:"token"`
	Auth  *struct {
		Scheme      string   `json:"scheme"`
		Schemes     []string `json:"schemes"` // of version 0.3
		Credentials string   `json:"credentials"`
	} `json:"authentication"`
}

// The limits of what is sent as headers.
const (
	maxPushToken  = 4096
	maxPushScheme = 64
)

// readPush reads a config.
func readPush(doc []byte) (*pushConfig, error) {
	var in pushIn
	if err := decode(doc, &in); err != nil {
		return nil, err
	}
	c := &pushConfig{ID: in.ID, URL: in.URL, Token: in.Token}
	if a := in.Auth; a != nil {
		c.Scheme, c.Credentials = a.Scheme, a.Credentials
		if c.Scheme == "" && len(a.Schemes) > 0 {
			c.Scheme = a.Schemes[0]
		}
	}
	switch {
	case c.URL == "":
		return nil, invalid("url", "The url of the push notification config is missing")
	case c.ID != "" && session.CheckIdentifier("id", c.ID) != nil:
		return nil, invalid("id", "The id of the push notification config is too long, or has characters that are not allowed")
	case !isHeader(c.Token, maxPushToken):
		return nil, invalid("token", "The token of the push notification config must be printable ASCII, at most %d bytes", maxPushToken)
	case !isHeader(c.Credentials, maxPushToken):
		return nil, invalid("authentication.credentials", "The credentials must be printable ASCII, at most %d bytes", maxPushToken)
	case !isHeader(c.Scheme, maxPushScheme) || strings.ContainsAny(c.Scheme, " ,"), c.Scheme == "" && c.Credentials != "":
		return nil, invalid("authentication.scheme", "The scheme must be the name of one, such as Bearer")
	}
	return c, nil
}

// isHeader reports whether a text can be in the value of a header.
func isHeader(text string, limit int) bool {
	return len(text) <= limit && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// pushID returns the id of the subscription of a config.
func pushID(key session.Key, task, id string) string {
	return face.RunID("push", key, task+" "+id)
}

// box returns what sends notifications.
func (x *exchange) box() (*outbox.Outbox, error) {
	if box := x.Outbox(); box != nil {
		return box, nil
	}
	return nil, fail(pushNotSupported, "This server sends no push notifications, because it has no key to seal the addresses of receivers with "+
		"(--credential_key_file), or its store cannot note them: subscribe to the task")
}

// pushTask returns the session of a task whose configs a request is about.
func (x *exchange) pushTask(task string) (*outbox.Outbox, session.Key, error) {
	box, key, _, err := x.readPushTask(task)
	return box, key, err
}

func (x *exchange) readPushTask(task string) (*outbox.Outbox, session.Key, *face.Task, error) {
	box, err := x.box()
	if err != nil {
		return nil, session.Key{}, nil, err
	}
	if task == "" {
		return nil, session.Key{}, nil, invalid("taskId", "The id of the task is missing")
	}
	key, t, err := x.readTask(task)
	return box, key, t, err
}

// putPush stores a config of a task. If the run has ended already, the receiver is
// notified at once.
func (x *exchange) putPush(key session.Key, task, run string, c *pushConfig) error {
	box, err := x.box()
	if err != nil {
		return err
	}
	if c.Old = x.v != v1; c.ID == "" {
		c.ID = task // as clients of version 0.3 expect
		if !c.Old {
			c.ID = pushID(key, task, c.URL) // the same for a request that is repeated
		}
	}
	s := &session.Subscription{Key: key, ID: pushID(key, task, c.ID), Kind: pushKind, Label: task}
	before, known, err := x.countPush(box, s)
	if err != nil {
		return err
	}
	tooMany := invalid("id", "There are too many push notification configs for the task or its context: delete one")
	if !known && before.exceeds(1) {
		return tooMany
	}
	doc, err := json.Marshal(c)
	if err != nil {
		return err
	}
	err = box.Subscribe(x.ctx(), s, run, c.URL, doc)
	if refused, ok := errors.AsType[*outbox.RefusedError](err); ok {
		return invalid("url", "%s", refused.Error())
	}
	if err != nil || known {
		return err
	}
	// Others may have been stored in the meantime.
	now, _, err := x.countPush(box, s)
	if err != nil || !now.exceeds(0) {
		return err
	}
	if err := box.Unsubscribe(context.WithoutCancel(x.ctx()), key, s.ID); err != nil {
		return err
	}
	return tooMany
}

// pushCount is how many configs there are for a task, and for its session.
type pushCount struct{ task, session int }

// exceeds reports whether there would be too many with some more.
func (n pushCount) exceeds(more int) bool {
	return n.task+more > maxPush || n.session+more > maxPushSession
}

// countPush counts the configs besides which a subscription is, or would be. known
// reports whether it is one of them.
func (x *exchange) countPush(box *outbox.Outbox, s *session.Subscription) (n pushCount, known bool, err error) {
	all, err := box.Subscriptions(x.ctx(), s.Key)
	if err != nil {
		return n, false, err
	}
	n.session = len(all)
	for _, other := range all {
		known = known || other.ID == s.ID
		if other.Label == s.Label {
			n.task++
		}
	}
	return n, known, nil
}

// addPush stores the config of a message, before its run, or after it if the message is
// repeated. undo deletes it, unless it was there before.
func (x *exchange) addPush(key session.Key, task string, c *pushConfig) (undo func(), err error) {
	run := ""
	if _, t, err := x.readTask(task); err == nil {
		run = t.Last().ID
	}
	err = x.putPush(key, task, run, c)
	if errors.Is(err, session.ErrNotFound) {
		if _, err := x.Engine().Create(x.ctx(), session.NewSession{Key: key}, nil); err != nil && !errors.Is(err, session.ErrExists) {
			return nil, x.About(key, err)
		}
		err = x.putPush(key, task, run, c)
	}
	if err != nil {
		return nil, err
	}
	return func() {
		ctx := context.WithoutCancel(x.ctx())
		_, first, err := parseID(task, key.App, key.User)
		if err != nil {
			return
		}
		if _, err := x.Engine().Run(ctx, key, first); errors.Is(err, session.ErrRunNotFound) {
			_ = x.Outbox().Unsubscribe(ctx, key, pushID(key, task, c.ID)) // it would only never be used
		}
	}, nil
}

// pushRequest is a request about configs. Version 1.0 names the task taskId and the
// config id; version 0.3 names the task id and the config pushNotificationConfigId.
type pushRequest struct {
	Task   string          `json:"taskId"`
	ID     string          `json:"id"`
	OldID  string          `json:"pushNotificationConfigId"`
	Config json.RawMessage `json:"pushNotificationConfig"` // of version 0.3
	// Proto is as some clients of version 0.3 send it over HTTP+JSON.
	Proto struct {
		Config json.RawMessage `json:"pushNotificationConfig"`
	} `json:"config"`
}

// readPushRequest reads a request about configs of a task.
func (x *exchange) readPushRequest(doc []byte) (task, id string, err error) {
	var q pushRequest
	if err := decode(doc, &q); err != nil {
		return "", "", err
	}
	if task, id = q.Task, q.ID; x.v == v0 {
		if task, id = q.ID, q.OldID; id == "" {
			id = task
		}
	}
	return task, id, nil
}

func (x *exchange) createPush(doc []byte) error {
	var q pushRequest
	if err := decode(doc, &q); err != nil {
		return err
	}
	return x.setPush(q.Task, doc)
}

func (x *exchange) setPush(task string, doc []byte) error {
	_, key, t, err := x.readPushTask(task)
	if err != nil {
		return err
	}
	over := "" // the run that has ended the task
	if status := t.Status(); status.Ended() && status != session.Waiting {
		over = t.Last().ID
	}
	if x.v != v1 {
		var q pushRequest
		if err := decode(doc, &q); err != nil {
			return err
		}
		if doc = q.Config; doc == nil {
			doc = q.Proto.Config
		}
	}
	c, err := readPush(doc)
	if err != nil {
		return err
	}
	if err := x.putPush(key, task, over, c); err != nil {
		return err
	}
	return x.reply(x.push(nil, task, c))
}

func (x *exchange) getPush(doc []byte) error {
	task, id, err := x.readPushRequest(doc)
	if err != nil {
		return err
	}
	return x.showPush(task, id)
}

func (x *exchange) showPush(task, id string) error {
	box, key, err := x.pushTask(task)
	if err != nil {
		return err
	}
	c, err := x.readConfig(box, key, pushID(key, task, id))
	if errors.Is(err, session.ErrNoSecret) {
		return fail(taskNotFound, "The task has no push notification config %s", id)
	}
	if err != nil {
		return err
	}
	return x.reply(x.push(nil, task, c))
}

// readConfig reads the config of a subscription.
func (x *exchange) readConfig(box *outbox.Outbox, key session.Key, id string) (*pushConfig, error) {
	doc, err := box.Config(x.ctx(), key, id)
	if err != nil {
		return nil, err
	}
	c := &pushConfig{}
	return c, json.Unmarshal(doc, c)
}

func (x *exchange) listPush(doc []byte) error {
	task, _, err := x.readPushRequest(doc)
	if err != nil {
		return err
	}
	return x.showPushes(task)
}

func (x *exchange) showPushes(task string) error {
	box, key, err := x.pushTask(task)
	if err != nil {
		return err
	}
	all, err := box.Subscriptions(x.ctx(), key)
	if err != nil {
		return err
	}
	list := []byte("[")
	for _, s := range all {
		if s.Kind != pushKind || s.Label != task {
			continue
		}
		c, err := x.readConfig(box, key, s.ID)
		if errors.Is(err, session.ErrNoSecret) {
			continue
		}
		if err != nil {
			return err
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = x.push(list, task, c)
	}
	list = append(list, ']')
	if x.v == v0 {
		return x.reply(list)
	}
	return x.reply(append(append([]byte(`{"configs":`), list...), `,"nextPageToken":""}`...))
}

func (x *exchange) deletePush(doc []byte) error {
	task, id, err := x.readPushRequest(doc)
	if err != nil {
		return err
	}
	return x.removePush(task, id)
}

func (x *exchange) removePush(task, id string) error {
	box, key, err := x.pushTask(task)
	if err != nil {
		return err
	}
	if err := box.Unsubscribe(x.ctx(), key, pushID(key, task, id)); err != nil {
		return err
	}
	if x.v == v0 {
		return x.reply([]byte("null"))
	}
	return x.reply([]byte("{}"))
}

// push appends a config as clients see it, without its credentials.
func (x *exchange) push(dst []byte, task string, c *pushConfig) []byte {
	o := &object{dst: append(dst, '{'), v: x.v}
	if x.v == p0 {
		o.string("name", "tasks/"+task+"/pushNotificationConfigs/"+c.ID)
	} else {
		o.string("taskId", task)
	}
	if x.v != v1 {
		o.key("pushNotificationConfig")
		o.dst = append(o.dst, '{')
	}
	o.string("id", c.ID)
	o.string("url", c.URL)
	o.optional("token", c.Token)
	if c.Scheme != "" {
		o.key("authentication")
		o.dst = append(o.dst, '{')
		if x.v != v1 {
			o.key("schemes")
			o.dst = wire.Quote(append(o.dst, '['), c.Scheme)
			o.dst = append(o.dst, ']')
		} else {
			o.string("scheme", c.Scheme)
		}
		o.dst = append(o.dst, '}')
	}
	if x.v != v1 {
		o.dst = append(o.dst, '}')
	}
	return append(o.dst, '}')
}

// pushRoutes returns the routes of configs below a path.
func pushRoutes(path string, serve func(func(*exchange) error) func(http.ResponseWriter, *http.Request) error) []face.Route {
	path += "/tasks/{task}/pushNotificationConfigs"
	return []face.Route{
		{Method: "GET", Path: path, Scope: access.Read, Handler: serve(restListPush)},
		{Method: "POST", Path: path, Scope: access.Run, Handler: serve(restCreatePush)},
		{Method: "GET", Path: path + "/{config}", Scope: access.Read, Handler: serve(restGetPush)},
		{Method: "DELETE", Path: path + "/{config}", Scope: access.Run, Handler: serve(restDeletePush)},
	}
}

func restCreatePush(x *exchange) error {
	doc, err := x.Body(x.w, x.r)
	if err != nil {
		return err
	}
	return x.setPush(x.r.PathValue("task"), doc)
}

func restListPush(x *exchange) error { return x.showPushes(x.r.PathValue("task")) }

func restGetPush(x *exchange) error {
	return x.showPush(x.r.PathValue("task"), x.r.PathValue("config"))
}

func restDeletePush(x *exchange) error {
	return x.removePush(x.r.PathValue("task"), x.r.PathValue("config"))
}

// The headers with the token of a config. The specification does not name one, and
// libraries differ.
var tokenHeaders = []string{"A2a-Notification-Token", "X-A2a-Notification-Token"}

// notify returns the notification about a run: the task as it is now. It is nil if the
// run is not of the task, or another notification follows that tells more.
func (h handler) notify(ctx context.Context, d *session.Delivery, config []byte) (*outbox.Message, error) {
	var c pushConfig
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, err
	}
	key, first, err := parseID(d.Label, d.Key.App, d.Key.User)
	if err != nil || key != d.Key {
		return nil, outbox.ErrOver
	}
	t, err := face.ReadTask(ctx, h, key, first)
	switch {
	case errors.Is(err, session.ErrNotFound):
		return nil, outbox.ErrOver
	case errors.Is(err, session.ErrRunNotFound): // it may be about to begin
		return nil, nil
	case err != nil:
		return nil, err
	}
	shown, err := h.view(ctx, d.Label, t, nil, true)
	if err != nil {
		return nil, err
	}
	row, last, over := t.Run(d.Run), t.Last(), shown.status.state.terminal()
	switch {
	case row == nil && over && d.At.After(last.Ended): // the notification about the end was before it
		return nil, outbox.ErrOver
	case row == nil, row != last && last.Status != session.Queued, d.Status == session.Running && row.Status.Ended():
		return nil, nil
	}
	v := v1
	if c.Old {
		v = v0
	}
	m := &outbox.Message{URL: c.URL, Header: http.Header{"Content-Type": {jsonType}}, Body: taskResult(nil, v, shown)}
	// A client that configures a task that is over can still see its config.
	m.Last = over && !d.Created.After(last.Ended)
	if c.Token != "" {
		for _, name := range tokenHeaders {
			m.Header[name] = []string{c.Token}
		}
	}
	if c.Credentials != "" {
		m.Header["Authorization"] = []string{c.Scheme + " " + c.Credentials}
	}
	return m, nil
}
