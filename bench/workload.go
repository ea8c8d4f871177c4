package main

import (
	"fmt"
	"sync/atomic"
)

// workload is a kind of request.
type workload struct {
	name  string
	app   string
	limit float64 // times the bare server's CPU; 0 for none
	// request is one in the given session.
	request func(session string) request
	// steps are the requests of a turn that has several.
	steps func(session string) []request
	// creates means that the request itself makes the session.
	creates bool
	// turns is how many the session has had before.
	turns int
	// records means that the server records runs.
	records bool
}

var (
	createSession = workload{
		name: "create_session", app: weatherApp, creates: true,
		request: func(session string) request { return create(weatherApp, user, session) },
	}
	runTurn = talk("run", "/run", weatherApp, false, limitRun)
	// runRecorded is run on a server that records all runs.
	runRecorded  = recordedTurn()
	runSSE       = talk("run_sse", "/run_sse", weatherApp, false, 0)
	runSSEPieces = talk("run_sse_pieces", "/run_sse", weatherApp, true, limitPieces)
	// runLate is run with a model that takes its time.
	runLate = talk("run_late", "/run", lateApp, false, 0)
	// runConversation is run with a model that sees the conversation.
	runConversation = talk("run_conversation", "/run", talkApp, false, 0)
	// runAnswers is a question in every turn, and the answer to it.
	runAnswers = asked()
	// The same for clients of other protocols, in pieces too, but for MCP: a client that
	// does not ask for progress gets one result.
	runAGUI = front("run_agui", "/apps/"+weatherApp+"/agui",
		`{"threadId":%q,"runId":"r%d","protocolVersion":"1.0","messages":[{"id":"m%[2]d","role":"user","content":"What is the weather in Paris?"}]}`)
	runAISDK = front("run_aisdk", "/apps/"+weatherApp+"/aisdk",
		`{"id":%q,"trigger":"submit-message","messages":[{"id":"m%d","role":"user","parts":[{"type":"text","text":"What is the weather in Paris?"}]}]}`)
	runResponses = front("run_responses", "/v1/responses",
		`{"model":"`+weatherApp+`","conversation":%q,"input":"What is the weather in Paris?","stream":true,"metadata":{"n":"%d"}}`)
	runA2A = front("run_a2a", "/a2a/"+weatherApp+"/message:stream",
		`{"message":{"messageId":"m%[2]d","contextId":%[1]q,"role":"ROLE_USER","parts":[{"text":"What is the weather in Paris?"}]}}`)
	runMCP = front("run_mcp", "/apps/"+weatherApp+"/mcp",
		`{"jsonrpc":"2.0","id":%[2]d,"method":"tools/call","params":{"name":"`+weatherApp+`","arguments":{"session":%[1]q,"message":"What is the weather in Paris?"}}}`)
	// runGraph is a workflow of ten functions.
	runGraph = talk("run_graph", "/run", graphApp, false, 0)
	// hold is a stream that stays open after its first event.
	hold = talk("hold", "/run_sse", holdApp, true, 0)
	// block is a run whose tool waits.
	block = talk("block", "/run", blockApp, false, 0)
	// getSession reads a session that has had some turns.
	getSession = workload{
		name: "get_session", app: weatherApp, limit: limitGet,
		request: func(session string) request { return request{"GET", sessionPath(weatherApp, user, session), nil} },
	}
)

func talk(name, path, app string, stream bool, limit float64) workload {
	return workload{name: name, app: app, limit: limit, request: func(session string) request {
		return request{"POST", path, fmt.Appendf(nil,
			`{"appName":%q,"userId":%q,"sessionId":%q,"newMessage":{"role":"user","parts":[{"text":"What is the weather in Paris?"}]},"streaming":%t}`,
			app, user, session, stream)}
	}}
}

func recordedTurn() workload {
	w := talk("run_recorded", "/run", weatherApp, false, limitRecorded)
	w.records = true
	return w
}

// asked has turns of two requests: a message with the id of the call that the model is to
// make, and the answer to that call.
func asked() workload {
	sent := &atomic.Int64{}
	w := talk("run_answers", "/run", askApp, false, 0)
	w.steps = func(session string) []request {
		body := `{"appName":"` + askApp + `","userId":"` + user + `","sessionId":%q,"newMessage":{"role":"user","parts":[%s]}}`
		id := fmt.Sprintf("call-%d", sent.Add(1))
		return []request{
			{"POST", "/run", fmt.Appendf(nil, body, session, fmt.Sprintf(`{"text":%q}`, id))},
			{"POST", "/run", fmt.Appendf(nil, body, session, fmt.Sprintf(`{"functionResponse":{"id":%q,"name":"approve","response":{"approved":true}}}`, id))},
		}
	}
	return w
}

// front is a turn of a client of another protocol. Its body has the session and a number
// that no other request has.
func front(name, path, body string) workload {
	sent := &atomic.Int64{}
	return workload{name: name, app: weatherApp, request: func(session string) request {
		return request{"POST", path, fmt.Appendf(nil, body, session, sent.Add(1))}
	}}
}

func workloadNamed(name string) (workload, error) {
	for _, w := range []workload{createSession, runTurn, runRecorded, runLate, runSSE, runSSEPieces, runAGUI, runAISDK, runResponses, runA2A, runMCP, runTypeScript, runSSETypeScript, runGraph, runConversation, runAnswers, hold, block, getSession} {
		if w.name == name {
			return w, nil
		}
	}
	return workload{}, fmt.Errorf("there is no workload %q", name)
}

// user owns the sessions where the user does not matter. It is the one that other
// protocols have for callers who name none.
const user = "user"

var smallState = []byte(`{"state":{"key1":"value1","key2":42}}`)

func sessionPath(app, user, session string) string {
	return "/apps/" + app + "/users/" + user + "/sessions/" + session
}

func create(app, user, session string) request {
	return request{"POST", sessionPath(app, user, session), smallState}
}

func remove(app, user, session string) request {
	return request{"DELETE", sessionPath(app, user, session), nil}
}

// createAll makes sessions, in any order. The bare server has none to make.
func (c *child) createAll(p pool, w workload, sessions []string) error {
	return c.each(p, sessions, func(s string) request { return create(w.app, user, s) })
}

// removeAll keeps what the server holds, and so the cost of a garbage
// collection, the same from one round to the next.
func (c *child) removeAll(p pool, w workload, sessions []string) error {
	return c.each(p, sessions, func(s string) request { return remove(w.app, user, s) })
}

func (c *child) each(p pool, sessions []string, one func(string) request) error {
	if c.kind == kindBare {
		return nil
	}
	var lists [][]request
	for _, s := range sessions {
		lists = append(lists, []request{one(s)})
	}
	return p.do(lists)
}

// ids returns n unused names of sessions.
func ids(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%d", prefix, i)
	}
	return list
}
