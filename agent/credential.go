package agent

import (
	"fmt"
	"slices"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// WithCredentialCall returns a copy of the tree below root that asks users to log
// in with the call of that name: tool.CredentialCall or tool.CredentialCallADK. An application
// uses it if its clients know another name than those of the other applications on
// the server, whose name the configuration sets. A request may choose a name too.
func WithCredentialCall(root *Agent, name string) (*Agent, error) {
	if !tool.IsCredentialCall(name) {
		return nil, fmt.Errorf("the credential call of agent %s: %q is neither %s nor %s", root.name, name, tool.CredentialCall, tool.CredentialCallADK)
	}
	root = root.clone()
	root.credentialCall = name
	return root, nil
}

// credentialCall is the name that this run uses.
func (inv *invocation) credentialCall() string {
	if inv.CredentialCall != "" {
		return inv.CredentialCall
	}
	return tool.CredentialCall
}

// login is a credential that calls need, and the first of those calls.
type login struct {
	call  string
	asked *credential.Config
}

// logins are the credentials that the user has to be asked for after calls, each
// once, in the order of the calls.
func logins(calls []*event.FunctionCall, actions *event.Actions) ([]login, error) {
	var list []login
	for _, call := range calls {
		doc, ok := actions.RequestedAuthConfigs[call.ID]
		if !ok {
			continue
		}
		cfg, err := credential.DecodeConfig(doc)
		if err != nil {
			return nil, fmt.Errorf("the credential that %s asks for: %w", call.Name, err)
		}
		if !slices.ContainsFunc(list, func(l login) bool { return l.asked.Key() == cfg.Key() }) {
			list = append(list, login{call.ID, cfg})
		}
	}
	return list, nil
}

// askLogins emits an event for each credential that the user has to be asked
// for, except those that have been asked for already.
func (c *Context) askLogins(calls []*event.FunctionCall, actions *event.Actions, asked []*event.Event, emit Emit) error {
	if len(actions.RequestedAuthConfigs) == 0 {
		return nil
	}
	list, err := logins(calls, actions)
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for _, ev := range asked {
		for _, call := range ev.FunctionCalls() {
			if cfg := askedFor(call); cfg != nil {
				done[cfg.Key()] = true
			}
		}
	}
	for _, l := range list {
		if done[l.asked.Key()] {
			continue
		}
		if err := c.askLogin(l, emit); err != nil {
			return err
		}
	}
	return nil
}

func (c *Context) askLogin(l login, emit Emit) error {
	id := newCallID()
	if c.inv.Credentials != nil {
		if err := c.inv.Credentials.Bind(c, id, l.asked); err != nil {
			return err
		}
	}
	name := c.inv.credentialCall()
	args := []byte{'{'}
	if name == tool.CredentialCall {
		// assistant-ui, which knows the ADK's name only, would answer with this id,
		// and then fail since the id is that of a call with another name.
		args = append(wire.Quote(append(args, `"function_call_id":`...), l.call), ',')
	}
	args = wire.Quote(append(args, `"functionCallId":`...), l.call)
	args, err := l.asked.AppendJSON(append(args, `,"auth_config":`...), credential.Snake)
	if err != nil {
		return err
	}
	if args, err = l.asked.AppendJSON(append(args, `,"authConfig":`...), credential.Camel); err != nil {
		return err
	}
	return emit(&event.Event{
		Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: &event.FunctionCall{
			ID: id, Name: name, Args: append(args, '}'),
		}}}},
		LongRunningToolIDs: []string{id},
	})
}

// askedFor is what a call asks the user for, nil if it is not such a call.
func askedFor(call *event.FunctionCall) *credential.Config {
	if !tool.IsCredentialCall(call.Name) {
		return nil
	}
	cfg, err := tool.AskedConfig(call)
	if err != nil {
		return nil
	}
	return cfg
}

// waited are the calls of this agent that waited for the logins which the user
// has just answered, as an event that makes them; nil if there are none.
func (c *Context) waited() *event.Event {
	keys := map[string]bool{}
	for _, r := range c.inv.UserContent.FunctionResponses() {
		if cfg := c.request(r); cfg != nil {
			keys[cfg.Key()] = true
		}
	}
	if len(keys) == 0 {
		return nil
	}
	pending, settled := map[string]bool{}, map[string]bool{}
	log := c.inv.Log
	for i := log.Len() - 1; i >= 0; i-- {
		ev := log.At(i)
		if !c.mine(ev) || ev.InvocationID == c.inv.ID {
			continue
		}
		for _, r := range ev.FunctionResponses() {
			if settled[r.ID] || pending[r.ID] {
				continue
			}
			cfg, err := credential.DecodeConfig(ev.Actions.RequestedAuthConfigs[r.ID])
			pending[r.ID] = err == nil && keys[cfg.Key()]
			settled[r.ID] = !pending[r.ID]
		}
		if again := callsAmong(ev, pending); again != nil {
			return again
		}
	}
	return nil
}

// request is what the user was asked for by the call that r answers.
func (c *Context) request(r *event.FunctionResponse) *credential.Config {
	if !tool.IsCredentialCall(r.Name) {
		return nil
	}
	for i := c.inv.Log.Len() - 1; i >= 0; i-- {
		for _, call := range c.inv.Log.At(i).FunctionCalls() {
			if call.ID == r.ID {
				return askedFor(call)
			}
		}
	}
	return nil
}

// callsAmong is ev with those of its calls that have one of the ids, nil if it
// has none.
func callsAmong(ev *event.Event, ids map[string]bool) *event.Event {
	out := &event.Event{Author: ev.Author, Branch: ev.Branch, Content: &event.Content{Role: event.RoleModel}}
	for _, call := range ev.FunctionCalls() {
		if !ids[call.ID] {
			continue
		}
		out.Content.Parts = append(out.Content.Parts, &event.Part{FunctionCall: call})
		if slices.Contains(ev.LongRunningToolIDs, call.ID) {
			out.LongRunningToolIDs = append(out.LongRunningToolIDs, call.ID)
		}
	}
	if len(out.Content.Parts) == 0 {
		return nil
	}
	return out
}
