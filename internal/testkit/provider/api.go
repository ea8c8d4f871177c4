package provider

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// Event is an entry in a calendar.
type Event struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Start string `json:"start,omitempty"`
}

// calendar holds the events of every user.
type calendar struct {
	first []Event // what is in everyone's

	mu sync.Mutex
	of map[string][]Event
}

// add puts an event into a user's calendar.
func (c *calendar) add(user string, event Event) Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string][]Event{}
	}
	event.ID = fmt.Sprintf("event-%d", len(c.first)+len(c.of[user])+1)
	c.of[user] = append(c.of[user], event)
	return event
}

// list returns a user's events, in the order in which they came.
func (c *calendar) list(user string) []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := append([]Event{}, c.first...)
	for i := range list {
		list[i].ID = fmt.Sprintf("event-%d", i+1)
	}
	return append(list, c.of[user]...)
}

// Events returns what is in a user's calendar.
func (p *Provider) Events(user string) []Event { return p.events.list(user) }

// serveEvents is the protected API.
func (p *Provider) serveEvents(w http.ResponseWriter, r *http.Request) {
	scope, ok := map[string]string{http.MethodGet: ScopeRead, http.MethodPost: ScopeWrite}[r.Method]
	if !ok {
		w.Header().Set("Allow", "GET, POST")
		answerError(w, http.StatusMethodNotAllowed, "method_not_allowed", "events can be read (GET) and added (POST)")
		return
	}
	token, ok := p.admit(w, r)
	if !ok {
		return
	}
	if !token.has(scope) {
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+scope+`"`)
		answerError(w, http.StatusForbidden, "insufficient_scope", "the access token was not granted the scope "+scope)
		return
	}
	if r.Method == http.MethodGet {
		answer(w, http.StatusOK, map[string]any{"events": p.events.list(token.subject)})
		return
	}
	var event Event
	if err := json.NewDecoder(r.Body).Decode(&event); err != nil || event.Title == "" {
		answerError(w, http.StatusBadRequest, "invalid_argument", "an event is a JSON object with a title, and may have a start")
		return
	}
	answer(w, http.StatusCreated, p.events.add(token.subject, event))
}

// userInfo refuses bad tokens with 401, where the library would say 403.
func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	if r.Form.Get("access_token") == "" {
		if _, ok := p.admit(w, r); !ok {
			return
		}
	}
	p.protocol.ServeHTTP(w, r)
}

// admit finds the access token that a request shows, or answers that it has none.
func (p *Provider) admit(w http.ResponseWriter, r *http.Request) (accessToken, bool) {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || value == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
		answerError(w, http.StatusUnauthorized, "missing_token", "the request needs an access token in the header Authorization")
		return accessToken{}, false
	}
	text, err := p.protocol.Crypto().Decrypt(value)
	if err == nil {
		id, _, _ := strings.Cut(text, ":")
		var token accessToken
		if token, err = p.store.accessToken(id); err == nil {
			return token, true
		}
	} else {
		err = errUnknownToken
	}
	w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	answerError(w, http.StatusUnauthorized, "invalid_token", err.Error())
	return accessToken{}, false
}

// answer sends a value as JSON.
func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) //nolint:errchkjson // all values here encode; a client that is gone cannot be told
}

// answerError sends an error as the API words it.
func answerError(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, map[string]string{"code": code, "message": message})
}
