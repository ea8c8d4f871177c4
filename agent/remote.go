package agent

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/retry"
)

// Remote connects to an agent of another server. Package agent/a2a has one for
// agents that speak A2A. Its methods may be called by several runs at the same time.
//
// auth is the credential for the requests. It is nil if the RemoteConfig has no Auth.
type Remote interface {
	// Send sends a message, which starts a task or continues one, and yields what
	// the agent says until the task has ended or waits. A message that is repeated
	// with the same ID must not start a second task.
	Send(ctx context.Context, auth *RemoteAuth, m *RemoteMessage) iter.Seq2[*RemoteUpdate, error]
	// Follow yields what the agent has said in a task, and then what it says until
	// the task has ended or waits.
	Follow(ctx context.Context, auth *RemoteAuth, task string) iter.Seq2[*RemoteUpdate, error]
	// Cancel ends a task.
	Cancel(ctx context.Context, auth *RemoteAuth, task string) error
}

// RemoteAuth is a credential, and how requests carry it: see credential.Apply.
type RemoteAuth struct {
	Scheme     *credential.Scheme
	Credential *credential.Credential
}

// RemoteMessage is a message to a remote agent.
type RemoteMessage struct {
	// ID is the same when the message is sent again, by any process.
	ID string
	// Task is set if the message answers what the task waits for.
	Task string
	// Conversation is empty for the first message.
	Conversation string
	Parts        []*event.Part
	// App, User and Session are those of the sender.
	App, User, Session string
}

// RemoteUpdate is something that a remote agent says.
type RemoteUpdate struct {
	// Task and Conversation are as the other server names them; Task is empty for an
	// answer without a task.
	Task, Conversation string
	// Event is what the agent says; nil if only the status has changed. It does not
	// have an author. A partial event is a piece of one that follows.
	Event *event.Event
	// ID identifies the event in its task.
	ID string
	// Input means that the task waits for another message.
	Input bool
	// Ended means that the task has ended, or waits: no update follows.
	Ended bool
}

// RemoteError marks an error of a Remote as temporary, so that another attempt may
// succeed: the connection is broken, or the other server is not available.
type RemoteError struct{ Err error }

func (e *RemoteError) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e *RemoteError) Unwrap() error { return e.Err }

// RemoteConfig configures an agent of another server.
type RemoteConfig struct {
	Config

	Remote Remote
	// Auth is the login that the other server requires of the user, or the
	// credential of the application; nil for none.
	Auth *credential.Config
	// Patience is how long the agent tries to reach the other server after the
	// connection has broken; 0 means two minutes.
	Patience time.Duration
}

// NewRemote returns an agent that another server runs. It sends what the
// conversation has had since its last answer. It cancels the task of the other
// server when its own run is cancelled. If the connection breaks, or another
// process continues the run, it continues with the task that it has started.
func NewRemote(cfg RemoteConfig) (*Agent, error) {
	if cfg.Remote == nil {
		return nil, fmt.Errorf("new agent %s: it has no Remote", cfg.Name)
	}
	if len(cfg.SubAgents) > 0 {
		return nil, fmt.Errorf("new agent %s: an agent of another server cannot have sub-agents here", cfg.Name)
	}
	if cfg.Auth != nil {
		if err := cfg.Auth.Validate(); err != nil {
			return nil, fmt.Errorf("new agent %s: auth: %w", cfg.Name, err)
		}
	}
	if cfg.Patience == 0 {
		cfg.Patience = 2 * time.Minute
	}
	r := &remote{cfg: cfg}
	a, err := build(cfg.Config, agentrt.KindRemote, r.run)
	if err != nil {
		return nil, err
	}
	a.remote = r
	return a, nil
}

// remote is the body of a remote agent.
type remote struct{ cfg RemoteConfig }

// The members of customMetadata that say from which task an event is.
const (
	remoteTask         = agentrt.RemoteTask
	remoteConversation = agentrt.RemoteConversation
	remoteID           = "a2a:event_id"
	remoteInput        = "a2a:input_required"
)

// errorRemote is the code of the event with which a remote agent fails.
const errorRemote = agentrt.RemoteFailed

// remoteRun is one run of a remote agent.
type remoteRun struct {
	*remote

	ctx      *Context
	emit     Emit
	auth     *RemoteAuth
	note     string          // the name of its note in the journal
	task     string          // empty until it is known
	received map[string]bool // IDs of the complete events that were emitted
	notes    *[]remoteNote   // of the updates, for edges; nil if there are none
}

// run sends the message and follows the task.
func (r *remote) run(ctx *Context, emit Emit) error {
	t := &remoteRun{remote: r, ctx: ctx, emit: emit, received: map[string]bool{}}
	who := ctx.agent.name + "@" + ctx.branch
	if ctx.node != nil {
		who += "@" + ctx.node.scope
	}
	who += "/" + strconv.Itoa(ctx.inv.countRemote(who))
	t.note = "remote/" + who
	if done, err := t.replay(); done || err != nil {
		return err
	}
	if ctx.inv.Edges != nil {
		return t.recorded(who)
	}
	if asked, err := t.logIn(); asked || err != nil {
		return err
	}
	m := t.message(who)
	if t.task == "" && len(m.Parts) == 0 {
		return t.fail(errors.New("there is nothing to send to the agent"))
	}
	return t.ended(t.follow(m))
}

// ended handles the end of the task.
func (t *remoteRun) ended(err error) error {
	ctx := t.ctx
	if ctx.Err() != nil {
		t.cancel()
		return ctx.Err()
	}
	if err != nil {
		return t.fail(err)
	}
	return nil
}

// countRemote returns how often the agent has run in this run before.
func (inv *invocation) countRemote(who string) int {
	inv.remotesMu.Lock()
	defer inv.remotesMu.Unlock()
	if inv.remotes == nil {
		inv.remotes = map[string]int{}
	}
	inv.remotes[who]++
	return inv.remotes[who] - 1
}

// replay takes what the agent said before another process continued the run. It
// returns true if the agent had ended.
func (t *remoteRun) replay() (done bool, err error) {
	known, _ := t.ctx.inv.noted(t.note)
	t.task = string(known)
	for {
		m := t.ctx.inv.past.next(t.ctx)
		if m == nil {
			return false, nil
		}
		if !t.ctx.own(m) || m.callback != "" || t.task != "" && metadata(m.Event, remoteTask) != t.task && m.ErrorCode == "" {
			return true, nil // something came after it
		}
		if err := t.ctx.inv.past.take(m, t.emit); err != nil {
			return true, err
		}
		t.received[metadata(m.Event, remoteID)] = true
		if m.ErrorCode == errorRemote {
			return true, nil
		}
	}
}

func metadata(ev *event.Event, name string) (value string) {
	_ = json.Unmarshal(ev.CustomMetadata[name], &value)
	return value
}

// logIn obtains the credential of the user. It returns true if the user is asked.
func (t *remoteRun) logIn() (asked bool, err error) {
	question, err := t.authorize()
	if err != nil || question == nil {
		return false, err
	}
	return true, t.ctx.askLogin(login{t.messageID("login"), question}, t.emit)
}

// authorize sets the credential, or returns what the user is to be asked for.
func (t *remoteRun) authorize() (question *credential.Config, err error) {
	auth := t.cfg.Auth
	if auth == nil {
		return nil, nil
	}
	tc := t.ctx.toolContext(&event.Actions{})
	cred, err := tc.AuthResponse(auth.Clone())
	if err != nil {
		return nil, err
	}
	if cred == nil {
		return tc.Credentials.Request(tc, auth.Clone())
	}
	t.auth = &RemoteAuth{Scheme: auth.Scheme, Credential: cred}
	return nil, nil
}

// follow sends the message, or follows the task that it has started, if that is
// known, until the task has ended or waits. It tries again when the connection breaks.
func (t *remoteRun) follow(m *RemoteMessage) error {
	const first, most = 200 * time.Millisecond, 5 * time.Second
	pause, last := retry.Backoff{Wait: first, Max: most}, time.Now()
	for {
		updated, ended, err := t.receive(t.connect(m))
		if broken := (*RemoteError)(nil); ended || t.ctx.Err() != nil || err != nil && !errors.As(err, &broken) {
			return err
		}
		if err == nil {
			err = errors.New("the connection ended before the task")
		}
		if updated {
			pause.Wait, last = first, time.Now()
		}
		if time.Since(last) > t.cfg.Patience {
			return fmt.Errorf("the server of the agent did not answer for %v: %w", t.cfg.Patience, err)
		}
		if err := retry.Sleep(t.ctx, pause.Next()); err != nil {
			return err
		}
	}
}

func (t *remoteRun) connect(m *RemoteMessage) iter.Seq2[*RemoteUpdate, error] {
	if t.task == "" {
		return t.cfg.Remote.Send(t.ctx, t.auth, m)
	}
	return t.cfg.Remote.Follow(t.ctx, t.auth, t.task)
}

// receive emits the updates of the agent. It reports whether there was a new one, and
// whether the task has ended or waits.
func (t *remoteRun) receive(updates iter.Seq2[*RemoteUpdate, error]) (updated, ended bool, err error) {
	for u, err := range updates {
		if err != nil {
			return updated, false, err
		}
		if u.Task != "" && t.task == "" {
			t.task = u.Task
			t.ctx.inv.note(t.note, []byte(u.Task))
			if j := t.ctx.inv.Journal; j != nil {
				if err := j.Flush(); err != nil {
					return updated, false, fmt.Errorf("note the task of %s: %w", t.ctx.agent.name, err)
				}
			}
			updated = true
		}
		if u.Event != nil && !t.received[u.ID] {
			updated = true
			if err := t.emitUpdate(u); err != nil {
				return updated, false, err
			}
		}
		if u.Ended {
			return updated, true, nil
		}
	}
	return updated, false, nil
}

// emitUpdate emits the event of an update as one of this agent.
func (t *remoteRun) emitUpdate(u *RemoteUpdate) error {
	ev := u.Event
	if ev.Partial {
		if !t.ctx.inv.Stream {
			return nil
		}
	} else {
		t.received[u.ID] = true
	}
	if ev.CustomMetadata == nil {
		ev.CustomMetadata = map[string]json.RawMessage{}
	}
	for name, value := range map[string]string{remoteTask: u.Task, remoteConversation: u.Conversation, remoteID: u.ID} {
		if value != "" {
			doc, err := json.Marshal(value)
			if err != nil {
				return err
			}
			ev.CustomMetadata[name] = doc
		}
	}
	if u.Input {
		ev.CustomMetadata[remoteInput] = json.RawMessage("true")
	}
	ev.TurnComplete = t.ctx.last && u.Ended
	t.noteUpdate(u)
	return t.emit(ev)
}

// fail emits why the agent has no answer. The run continues as it does after the
// failure of a model.
func (t *remoteRun) fail(err error) error {
	return t.emit(&event.Event{ErrorCode: errorRemote, ErrorMessage: t.ctx.agent.name + ": " + err.Error(), TurnComplete: t.ctx.last})
}

// cancel cancels the task because the run has ended, unless another process
// continues the run.
func (t *remoteRun) cancel() {
	if moved := agentrt.Moved(""); t.task == "" || errors.As(context.Cause(t.ctx), &moved) {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(t.ctx), 5*time.Second)
	defer stop()
	_ = t.cfg.Remote.Cancel(ctx, t.auth, t.task) // the task may have ended
}

// messageID returns the id of the message that the agent sends when it runs for
// the n-th time in this run. A process that continues the run computes the same.
func (t *remoteRun) messageID(who string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{t.ctx.App(), t.ctx.User(), t.ctx.Session(), t.ctx.InvocationID(), t.ctx.inv.call, who}, "\x00")))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// message returns the message to send: the answers to the questions of the agent,
// or what was not sent to it yet.
func (t *remoteRun) message(who string) *RemoteMessage {
	c := t.ctx
	m := &RemoteMessage{ID: t.messageID(who), App: c.App(), User: c.User(), Session: c.Session()}
	log := c.inv.Log
	from := 0
	for i := log.Len() - 1; i >= 0; i-- {
		ev := log.At(i)
		if ev.Author != c.agent.name || !visible(ev.Branch, c.branch) || metadata(ev, remoteConversation) == "" {
			continue
		}
		m.Conversation = metadata(ev, remoteConversation)
		if ev.CustomMetadata[remoteInput] != nil {
			m.Task = metadata(ev, remoteTask)
		}
		from = i + 1
		break
	}
	if c.node != nil {
		m.Parts = inputContent(c.node.input).Parts
		from = log.Len()
	}
	asked := t.questions()
	for i := from; i < log.Len(); i++ {
		ev := log.At(i)
		if ev.Content == nil || ev.Author == c.agent.name || !visible(ev.Branch, c.branch) {
			continue
		}
		if ev.Author != event.User {
			if other := agentrt.AsContext(ev); other != nil {
				m.Parts = append(m.Parts, other.Parts...)
			}
			continue
		}
		for _, p := range ev.Content.Parts {
			if p.FunctionResponse == nil || asked[p.FunctionResponse.ID] {
				m.Parts = append(m.Parts, p)
			}
		}
	}
	return m
}

// questions are the calls that the agent has emitted for the user.
func (t *remoteRun) questions() map[string]bool {
	asked := map[string]bool{}
	log := t.ctx.inv.Log
	for i := log.Len() - 1; i >= 0; i-- {
		if ev := log.At(i); ev.Author == t.ctx.agent.name && metadata(ev, remoteTask) != "" {
			for _, id := range ev.LongRunningToolIDs {
				asked[id] = true
			}
			if len(asked) > 0 {
				break
			}
		}
	}
	return asked
}
