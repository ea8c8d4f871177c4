package trigger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/session"
)

// Authenticate returns the trigger of a request. It fails with a *RefusedError if there
// is none, or if the request is not from its sender, and with an
// *access.UnavailableError.
func (s *Service) Authenticate(ctx context.Context, r *Request) (*Trigger, error) {
	t, err := s.find(ctx, r.App, r.Name)
	switch {
	case errors.Is(err, ErrNotFound):
		mac(decoyKey, r.Body)
		return nil, refused("there is no such trigger")
	case err != nil:
		return nil, err
	case t.Problem != "":
		mac(decoyKey, r.Body)
		s.Log.WarnContext(ctx, "a trigger cannot be used", "app", r.App, "trigger", r.Name, "err", t.Problem)
		return nil, refused(t.Problem)
	}
	if err := s.verify(ctx, t, r); err != nil {
		s.past.add(t, &Past{Time: s.now(), Outcome: Refused, Error: err.Error()})
		return nil, err
	}
	return t, nil
}

// Result is what has come of a request.
type Result struct {
	Past
	Key session.Key
	// Challenge is what a sender expects that asks whether this is the right address;
	// empty if it does not.
	Challenge string
}

// Deliver starts the run of a request that Authenticate has accepted. recall is nil if
// every caller may do everything.
func (s *Service) Deliver(ctx context.Context, t *Trigger, r *Request, recall access.Recall) (*Result, error) {
	result := &Result{Past: Past{Time: s.now()}}
	err := s.deliver(ctx, t, r, recall, result)
	if err != nil {
		result.Outcome = Failed
		result.Error = err.Error()
		if _, ok := errors.AsType[*PayloadError](err); !ok && !errors.Is(err, ErrOwner) {
			result.Error = "the run could not be started" // the cause may be internal
		}
	}
	if result.Challenge == "" {
		s.past.add(t, &result.Past)
	}
	return result, err
}

func (s *Service) deliver(ctx context.Context, t *Trigger, r *Request, recall access.Recall, result *Result) error {
	p, err := open(&t.Spec, r)
	if err != nil {
		return err
	}
	result.Delivery, result.Type = clip(p.id), clip(p.kind)
	if t.Spec.Check == Slack && textAt(p.body, "type") == "url_verification" {
		if result.Challenge = textAt(p.body, "challenge"); result.Challenge == "" {
			return &PayloadError{"the payload has no challenge"}
		}
		result.Outcome = Challenged
		return nil
	}
	if why := p.ignored(&t.Spec); why != "" {
		result.Outcome, result.Error = Ignored, why
		return nil
	}
	start, err := t.start(p)
	if err != nil {
		return err
	}
	if err := t.allowed(ctx, start.Key.User, recall); err != nil {
		return err
	}
	run, repeated, err := s.Starter.Start(ctx, start)
	if err != nil {
		return err
	}
	result.Key, result.Run, result.User, result.Session = start.Key, run, start.Key.User, start.Key.ID
	if result.Outcome = Started; repeated {
		result.Outcome = Repeated
	}
	return nil
}

// allowed checks that the owner of a trigger may still do what it does.
func (t *Trigger) allowed(ctx context.Context, user string, recall access.Recall) error {
	if t.Owner == nil || recall == nil {
		return nil
	}
	caller, err := recall(ctx, *t.Owner)
	if _, ok := errors.AsType[*access.RefusedError](err); ok {
		return ErrOwner
	}
	if err != nil {
		return err
	}
	if !caller.May(access.Triggers) || !caller.Is(user) || t.Spec.WritesShared() && !caller.May(access.Admin) {
		return ErrOwner
	}
	return nil
}

// start makes a run of a payload.
func (t *Trigger) start(p *payload) (*Start, error) {
	render := func(text string) (string, error) {
		parsed, err := parse(text)
		if err != nil {
			return "", err
		}
		return parsed.render(p.values)
	}
	out := &Start{Key: session.Key{App: t.App}, Busy: t.Spec.Busy, Trigger: t.Name, Delivery: clip(p.id), Type: clip(p.kind)}
	user, err := render(t.Spec.User)
	if err != nil {
		return nil, err
	}
	out.Key.User = user
	id := p.id
	if t.Spec.Delivery != "" {
		if id, err = render(t.Spec.Delivery); err != nil {
			return nil, err
		}
		out.Delivery = clip(id)
	}
	out.Key.ID = ident.Session()
	if id != "" {
		sum := sha256.Sum256([]byte(id))
		text := hex.EncodeToString(sum[:])
		out.IdempotencyKey, out.Key.ID = "trigger "+t.Name+" "+text, t.Name+"-"+text[:24]
	}
	if t.Spec.Session != "" {
		if out.Key.ID, err = render(t.Spec.Session); err != nil {
			return nil, err
		}
	}
	if err := out.Key.Check(); err != nil {
		return nil, &PayloadError{"what the trigger makes of the payload cannot be an id: " + err.Error()}
	}
	text := t.Spec.Message
	if text == "" {
		text = `{{ body ?? "" }}`
	}
	if text, err = render(text); err != nil {
		return nil, err
	}
	if strings.TrimSpace(text) == "" {
		return nil, &PayloadError{"what the trigger makes of the payload is an empty message"}
	}
	out.Message = event.Text("user", text)
	return out, t.state(p, out)
}

// state renders the changes of the state.
func (t *Trigger) state(p *payload, out *Start) error {
	size := 0
	for key, doc := range t.Spec.StateDelta {
		value, err := renderValue(doc, func(text string) (any, error) { return renderText(text, p.values) })
		if err != nil {
			return err
		}
		encoded, err := encode(value, "")
		if err != nil {
			return err
		}
		if size += len(encoded); size > maxOutput {
			return errLarge
		}
		if out.StateDelta == nil {
			out.StateDelta = map[string]json.RawMessage{}
		}
		out.StateDelta[key] = encoded
	}
	return nil
}

// clip shortens an id of a sender for people.
func clip(text string) string {
	const longest = 256
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}
