package parley

import (
	"encoding/json"
	"time"

	"github.com/parley-run/parley/internal/inbox"
)

// InboxConfig configures what waits for people, such as confirmations.
type InboxConfig struct {
	// Rules say who may answer, and what happens without an answer. For each tool, the
	// first rule that matches applies. Those of an application in a directory may also be in
	// its file inbox.yaml, and come after these. Without a rule, the user of the session
	// answers.
	Rules []InboxRule
}

// InboxRule is a rule for the confirmations, questions and results of a tool. Logins are
// always those of the user.
type InboxRule struct {
	// App is the application; empty means all.
	App string
	// Tool is the name of the tool; "*" means all.
	Tool string
	// Answer is who may answer: "user", which is the user of the session; "role:NAME",
	// callers with a role, and no others; or "anyone", every caller with the scope "inbox",
	// which users have. Empty means "user". Administrators may always answer.
	Answer string
	// EscalateAfter is when webhooks are notified that there is no answer; 0 means never.
	EscalateAfter time.Duration
	// DefaultAfter is when the server answers with Default; 0 means never.
	DefaultAfter time.Duration
	// Default is the answer, as JSON, such as {"confirmed": true}. Empty means a refusal.
	Default json.RawMessage
}

// rule returns the rule as package inbox has it.
func (r *InboxRule) rule() inbox.Rule {
	one := inbox.Rule{Tool: r.Tool, Answer: r.Answer, EscalateAfter: r.EscalateAfter, DefaultAfter: r.DefaultAfter, Default: r.Default}
	if one.Answer == "" {
		one.Answer = inbox.User
	}
	return one
}

func (c *InboxConfig) validate() error {
	for i := range c.Rules {
		one := c.Rules[i].rule()
		if err := one.Check(); err != nil {
			return inField("Inbox.Rules", err)
		}
		if len(one.Default) > 0 && !json.Valid(one.Default) {
			return wrong("Inbox.Rules", "the default of the rule for %s is not JSON", one.Tool)
		}
	}
	return nil
}

// serverInbox is the inbox of a server.
type serverInbox struct {
	rules   *inbox.Rules
	service *inbox.Service // nil if the store has none
	worker  *inbox.Worker  // nil if this server leaves its work to others
}

// Close ends what answers without a request.
func (i *serverInbox) Close() {
	if i != nil {
		i.worker.Close()
	}
}

// inboxRules returns the rules of all applications.
func (s *Server) inboxRules() *inbox.Rules {
	given := func(app string) []inbox.Rule {
		var rules []inbox.Rule
		for i := range s.cfg.Inbox.Rules {
			if one := &s.cfg.Inbox.Rules[i]; one.App == "" || one.App == app {
				rules = append(rules, one.rule())
			}
		}
		return rules
	}
	s.inbox = &serverInbox{rules: &inbox.Rules{Given: given, Dir: s.apps.Dir}}
	return s.inbox.rules
}

// openInbox starts what answers without a request.
func (s *Server) openInbox() {
	if s.store.Inbox == nil {
		return
	}
	s.inbox.service = &inbox.Service{Store: s.store, Engine: s.engine, Rules: s.inbox.rules, Apps: s.apps.Names, Vault: s.logins.Vault(), Log: s.cfg.Log, Observer: s.telemetry}
	if !s.cfg.Sessions.Passive {
		s.inbox.worker = s.inbox.service.Start()
	}
}
