// Package inbox lists what waits for people in all sessions, has it answered once, and
// gives default answers. It knows who may answer what.
package inbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/access"
	parts "github.com/parley-run/parley/internal/link"
	"github.com/parley-run/parley/internal/registry"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// File is the name of the file with the rules of an application, in its directory.
const File = "inbox.yaml"

// Rule says who may answer for a tool, and what happens without an answer.
type Rule struct {
	// Tool is the name of the tool; "*" means all.
	Tool string
	// Answer is who may answer: User, Anyone, or RolePrefix and a role.
	Answer string
	// EscalateAfter and DefaultAfter are how long after the question it is escalated, and
	// answered with Default; 0 means never.
	EscalateAfter, DefaultAfter time.Duration
	// Default is the answer; nil refuses.
	Default json.RawMessage
}

// The values of Rule.Answer.
const (
	// User is the user of the session, and callers who may act as that user.
	User = "user"
	// Anyone is every caller with the scope for the inbox, which users have.
	Anyone = "anyone"
	// RolePrefix precedes a role, whose members may answer. The user may not, without it.
	RolePrefix = "role:"
)

const (
	maxFile  = 64 << 10
	maxRules = 1000
	// minAfter and maxAfter bound the times of a rule.
	minAfter = time.Second
	maxAfter = 366 * 24 * time.Hour
)

// Check returns what is wrong with a rule.
func (r *Rule) Check() error {
	switch role, isRole := strings.CutPrefix(r.Answer, RolePrefix); {
	case r.Tool == "":
		return errors.New(`a rule needs a tool: its name, or "*" for all`)
	case isRole && role == "" || !isRole && r.Answer != User && r.Answer != Anyone:
		return fmt.Errorf("the rule for %s: answer must be %s, %s or %sNAME, not %q", r.Tool, User, Anyone, RolePrefix, r.Answer)
	}
	for name, d := range map[string]time.Duration{"escalateAfter": r.EscalateAfter, "defaultAfter": r.DefaultAfter} {
		if d != 0 && (d < minAfter || d > maxAfter) {
			return fmt.Errorf("the rule for %s: %s must be between %v and %v", r.Tool, name, minAfter, maxAfter)
		}
	}
	if len(r.Default) > 0 && r.DefaultAfter == 0 {
		return fmt.Errorf("the rule for %s has a default, and needs a defaultAfter", r.Tool)
	}
	return nil
}

// Parse reads the rules of a file.
func Parse(text []byte) ([]Rule, error) {
	decode, ok := registry.Find[parts.YAML]("")
	if !ok { // directories come with scripts, and the decoder with them
		return nil, registry.Missing("the reader of YAML", "typescript")
	}
	doc, err := decode(text)
	if err != nil {
		return nil, err
	}
	var list []struct {
		Tool          string          `json:"tool"`
		Answer        string          `json:"answer"`
		EscalateAfter string          `json:"escalateAfter"`
		DefaultAfter  string          `json:"defaultAfter"`
		Default       json.RawMessage `json:"default"`
	}
	in := json.NewDecoder(bytes.NewReader(doc))
	in.DisallowUnknownFields()
	if err := in.Decode(&list); err != nil {
		return nil, fmt.Errorf("it must be a list of rules with tool, answer, escalateAfter, defaultAfter and default: %w", err)
	}
	if len(list) > maxRules {
		return nil, fmt.Errorf("it has more than %d rules", maxRules)
	}
	rules := make([]Rule, len(list))
	for i, one := range list {
		if one.Answer == "" {
			one.Answer = User
		}
		r := Rule{Tool: one.Tool, Answer: one.Answer, Default: one.Default}
		for _, d := range []struct {
			text string
			into *time.Duration
		}{{one.EscalateAfter, &r.EscalateAfter}, {one.DefaultAfter, &r.DefaultAfter}} {
			if d.text == "" {
				continue
			}
			if *d.into, err = time.ParseDuration(d.text); err != nil {
				return nil, fmt.Errorf("the rule for %s: %q is not a duration such as 30m or 24h", one.Tool, d.text)
			}
		}
		if err := r.Check(); err != nil {
			return nil, err
		}
		rules[i] = r
	}
	return rules, nil
}

// Rules are those of all applications.
type Rules struct {
	// Given returns the rules of an application that come first; nil for none.
	Given func(app string) []Rule
	// Dir returns the directory of an application; empty for none.
	Dir func(app string) string

	mu    sync.Mutex
	files map[string]*rulesFile // by directory
}

type rulesFile struct {
	at    time.Time
	size  int64
	rules []Rule
	err   error
}

// Of returns the rules of an application. If its file cannot be read, that is an error:
// who may answer is unknown.
func (r *Rules) Of(app string) ([]Rule, error) {
	var rules []Rule
	if r.Given != nil {
		rules = r.Given(app)
	}
	if r.Dir == nil {
		return rules, nil
	}
	dir := r.Dir(app)
	if dir == "" {
		return rules, nil
	}
	more, err := r.read(dir)
	if err != nil {
		return nil, &run.AppError{Cause: fmt.Errorf("%s: %w", File, err)}
	}
	return append(slices.Clip(rules), more...), nil
}

func (r *Rules) read(dir string) ([]Rule, error) {
	path := filepath.Join(dir, File)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.files[path]; f != nil && f.at.Equal(info.ModTime()) && f.size == info.Size() {
		return f.rules, f.err
	}
	f := &rulesFile{at: info.ModTime(), size: info.Size()}
	if info.Size() > maxFile {
		f.err = fmt.Errorf("it is larger than %d bytes", maxFile)
	} else if text, err := os.ReadFile(path); err != nil { //nolint:gosec // the file of an application that is served
		f.err = err
	} else {
		f.rules, f.err = Parse(text)
	}
	if r.files == nil {
		r.files = map[string]*rulesFile{}
	}
	r.files[path] = f
	return f.rules, f.err
}

// For returns the rule for a tool of an application: the first one that names it, or "*".
func (r *Rules) For(app, tool string) (Rule, error) {
	rules, err := r.Of(app)
	if err != nil {
		return Rule{}, err
	}
	if i := match(rules, tool); i >= 0 {
		return rules[i], nil
	}
	return Rule{Tool: "*", Answer: User}, nil
}

// match returns the index of the rule for a tool, -1 if there is none.
func match(rules []Rule, tool string) int {
	return slices.IndexFunc(rules, func(one Rule) bool { return one.Tool == tool || one.Tool == "*" })
}

// MayAnswer fails with run.ErrNotAllowed if the caller of ctx may not answer for a tool in
// a session. It is that of an engine, so it holds for every way to answer.
func (r *Rules) MayAnswer(ctx context.Context, key session.Key, tool string) error {
	rule, err := r.For(key.App, tool)
	if err == nil && !rule.allows(access.From(ctx), key.User) {
		err = fmt.Errorf("%w: that is for %s", run.ErrNotAllowed, rule.who())
	}
	return err
}

// allows reports whether a caller may answer in a session of a user. Callers who may only
// look may not.
func (r *Rule) allows(c *access.Caller, user string) bool {
	if !c.May(access.Inbox) {
		return false
	}
	if role, ok := strings.CutPrefix(r.Answer, RolePrefix); ok {
		return c.Has(role)
	}
	return c.Is(user) || r.Answer == Anyone
}

func (r *Rule) who() string {
	if role, ok := strings.CutPrefix(r.Answer, RolePrefix); ok {
		return "the role " + role
	}
	return "the user"
}
