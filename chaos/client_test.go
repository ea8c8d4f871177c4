//go:build unix

package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/session"
)

// client sends messages, gives up, disconnects, and returns. It remembers everything that was acknowledged.
type client struct {
	*world
	name   string
	random *rand.Rand
	only   *replica // nil for any
}

// live talks until the faults end, and then hears everything to its end.
func (c *client) live() {
	var mine []*conversation
	names := []string{"solo", "solo", "row", "fan", "tree", "hand", "graph"}
	for !c.over() && !c.Failed() {
		if len(mine) == 0 || len(mine) < 12 && c.random.IntN(8) == 0 {
			mine = append(mine, c.create(names[c.random.IntN(len(names))]))
		}
		conv := mine[c.random.IntN(len(mine))]
		if c.random.IntN(3) == 0 {
			conv = c.anybodys(conv)
		}
		switch c.random.IntN(12) {
		case 0:
			c.patch(conv)
		case 1:
			c.read(conv)
		default:
			c.turn(conv)
		}
	}
	for _, conv := range mine {
		c.read(conv)
	}
}

func (c *client) over() bool {
	select {
	case <-c.calm:
		return true
	default:
		return false
	}
}

// anybodys is a conversation that others may be in.
func (c *client) anybodys(other *conversation) *conversation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.conversations) == 0 {
		return other
	}
	return c.conversations[c.random.IntN(len(c.conversations))]
}

func (c *client) word() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.words++
	return fmt.Sprintf("u%d%s", c.words, c.name)
}

// create makes a session. One whose answer was lost may be there already.
func (c *client) create(app string) *conversation {
	conv := &conversation{key: session.Key{App: app, User: c.name, ID: c.word()}, patches: map[string]string{}, known: map[string]string{}}
	status, body := c.insist(http.MethodPost, sessionPath(conv.key), []byte(`{"state":{"made":"yes"}}`), nil)
	if status != http.StatusOK && status != http.StatusConflict {
		c.Errorf("creating %v: status %d: %s", conv.key, status, body)
	}
	conv.patches["made"] = `"yes"`
	c.mu.Lock()
	c.conversations = append(c.conversations, conv)
	c.mu.Unlock()
	return conv
}

// patch changes the state. It may be done twice, which makes no difference to
// the state.
func (c *client) patch(conv *conversation) {
	name := c.word()
	status, body := c.insist(http.MethodPatch, sessionPath(conv.key), fmt.Appendf(nil, `{"stateDelta":{%q:%q}}`, name, c.name), nil)
	if status != http.StatusOK {
		c.Errorf("patching %v: status %d: %s", conv.key, status, body)
		return
	}
	conv.mu.Lock()
	defer conv.mu.Unlock()
	conv.patches[name] = fmt.Sprintf("%q", c.name)
}

// read reads the session.
func (c *client) read(conv *conversation) {
	status, body := c.insist(http.MethodGet, sessionPath(conv.key), nil, nil)
	var got struct {
		Events []json.RawMessage `json:"events"`
	}
	if err := json.Unmarshal(body, &got); status != http.StatusOK || err != nil {
		c.Errorf("reading %v: status %d, %v: %s", conv.key, status, err, body)
		return
	}
	conv.mu.Lock()
	defer conv.mu.Unlock()
	var log []string
	for _, ev := range got.Events {
		doc, known := conv.known[string(ev)]
		if !known { // what is read again and again is kept once
			doc = string(ev)
			conv.known[doc] = doc
		}
		log = append(log, doc)
	}
	conv.reads = append(conv.reads, log)
}

// turn sends a message and follows its run to the end, and answers what it asks.
func (c *client) turn(conv *conversation) {
	m := &message{conversation: conv, word: c.word(), closed: -1}
	for range c.random.IntN(4) {
		tools := []string{"once", "idempotent", "pure"}
		if c.random.IntN(6) == 0 && conv.key.App != "hand" {
			tools = append(tools, "wait")
		}
		var stage []string
		for range 1 + max(0, c.random.IntN(6)-2) {
			stage = append(stage, tools[c.random.IntN(len(tools))])
		}
		m.stages = append(m.stages, strings.Join(stage, " "))
	}
	m.policy = []string{"enqueue", "enqueue", "enqueue", "enqueue", "enqueue", "enqueue", "reject", "interrupt", "rollback"}[c.random.IntN(9)]
	text := strings.Join(append([]string{m.word}, m.stages...), " / ")
	if len(m.stages) == 0 {
		text += " / "
	}
	c.say(m, map[string]any{"text": text})
	if m.status != "waiting" {
		return
	}
	for _, id := range m.open() {
		if c.random.IntN(8) == 0 {
			continue // no server answers
		}
		a := &message{conversation: conv, word: c.word(), answers: id, policy: "enqueue", closed: -1}
		c.say(a, map[string]any{"functionResponse": map[string]any{"id": id, "name": "wait", "response": map[string]string{"word": a.word}}})
	}
}

// say sends one message, as often as it takes, and follows its run.
func (c *client) say(m *message, part map[string]any) {
	key := m.conversation.key
	body, err := json.Marshal(map[string]any{
		"appName": key.App, "userId": key.User, "sessionId": key.ID, "concurrency": m.policy, "streaming": c.random.IntN(2) == 0,
		"newMessage": map[string]any{"role": "user", "parts": []any{part}},
		"stateDelta": map[string]string{"said_" + m.word: "yes"},
	})
	if err != nil {
		c.Error(err)
		return
	}
	m.body = body
	conv := m.conversation
	conv.mu.Lock()
	conv.messages = append(conv.messages, m)
	conv.ended = conv.ended || m.policy == "interrupt" || m.policy == "rollback"
	conv.rewound = conv.rewound || m.policy == "rollback"
	conv.mu.Unlock()
	for end := c.patience(); ; c.nap() {
		if c.request(m); m.run != "" || m.refused != "" {
			break
		}
		if end() {
			c.Errorf("%s: the message %s was not accepted:\n%s", m.conversation.key.ID, m.word, strings.Join(m.stories, "\n"))
			return
		}
	}
	if m.run == "" {
		return
	}
	cancel := c.random.IntN(12) == 0
	for end := c.patience(); m.ended == ""; c.nap() {
		c.follow(m, c.drop())
		if cancel {
			cancel = false
			c.cancel(m)
		}
		if end() && m.ended == "" {
			c.Errorf("%s: the run %s of the message %s did not end:\n%s", m.conversation.key.ID, m.run, m.word, strings.Join(m.stories, "\n"))
			return
		}
	}
	if c.random.IntN(6) == 0 { // a client that repeats a message gets the same run
		status, got, body, err := c.do(http.MethodPost, "/run", m.body, http.Header{"Idempotency-Key": {"key-" + m.word}})
		m.note("/run again: %d %v", status, err)
		if err == nil && c.accepted(m, "/run again", status, got, body) && status == http.StatusOK {
			m.whole = append(m.whole, string(body))
		}
	}
}

// cancel asks for the end of a run, anywhere.
func (c *client) cancel(m *message) {
	m.conversation.mu.Lock()
	m.conversation.ended = true
	m.conversation.mu.Unlock()
	m.note("cancels")
	status, body := c.insist(http.MethodPost, sessionPath(m.conversation.key)+"/runs/"+m.run+"/cancel", nil, nil)
	if status != http.StatusOK {
		c.Errorf("cancelling %s: status %d: %s", m.run, status, body)
	}
}

// drop is after how many events the client goes away; most of the time, never.
func (c *client) drop() int {
	if c.over() || c.random.IntN(3) > 0 {
		return -1
	}
	return c.random.IntN(8)
}

// patience tells when it is time to give up: long after the faults have ended.
func (c *client) patience() func() bool {
	var limit time.Time
	return func() bool {
		if !c.over() {
			return false
		}
		if limit.IsZero() {
			limit = time.Now().Add(quiet)
		}
		return time.Now().After(limit)
	}
}

func (c *client) nap() { time.Sleep(time.Duration(1+c.random.IntN(60)) * time.Millisecond) }

// anywhere is a server that is up, or seems to be.
func (c *client) anywhere() string {
	if c.only != nil {
		return c.only.base()
	}
	var up []string
	for _, r := range c.replicas {
		if base := r.base(); base != "" {
			up = append(up, base)
		}
	}
	if len(up) == 0 {
		return ""
	}
	slices.Sort(up)
	return up[c.random.IntN(len(up))]
}

func sessionPath(key session.Key) string {
	return fmt.Sprintf("/apps/%s/users/%s/sessions/%s", key.App, key.User, key.ID)
}
