package agent

import "github.com/parley-run/parley/event"

// logIn asks the user for the login that the node needs, unless there is one. It is
// called before the node begins: what begins once has not begun while it waits.
func (r *nodeRun) logIn() error {
	cfg := r.node.Auth
	if cfg == nil {
		return nil
	}
	tc := r.ctx.toolContext(&event.Actions{})
	got, err := tc.AuthResponse(cfg)
	if err != nil || got != nil {
		return err
	}
	if b := r.before; b != nil && b.open() {
		return ErrWaiting // the user has been asked
	}
	asked, err := tc.Credentials.Request(tc, cfg)
	if err != nil {
		return err
	}
	err = r.ctx.askLogin(login{r.callID(), asked}, func(ev *event.Event) error {
		ev.Actions = r.hooked
		return r.emit(ev)
	})
	if err != nil {
		return err
	}
	return ErrWaiting
}

// loggedIn reports whether the node waits for nothing but a login that the user has
// answered elsewhere: nodes that run at the same time may ask for the same one.
func (r *nodeRun) loggedIn() (bool, error) {
	if r.node.Auth == nil || len(r.before.inputs()) > 0 || r.node.Tool != nil {
		return false, nil
	}
	got, err := r.ctx.toolContext(&event.Actions{}).AuthResponse(r.node.Auth)
	if err != nil || got == nil {
		return false, err
	}
	return true, r.takeAll()
}
