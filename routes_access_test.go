package parley_test

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-run/parley/internal/testkit"
)

// routeAccess is a request to a route and its status for the owner of the data, for another user, and for an
// unauthenticated caller.
type routeAccess struct {
	path, body            string
	own, other, anonymous int
}

const (
	yours, hidden  = http.StatusOK, http.StatusNotFound
	closed, denied = http.StatusUnauthorized, http.StatusForbidden
	invalid        = http.StatusUnprocessableEntity
)

// unauthorized are the bodies that tell no more than that: of the server, and of faces.
var unauthorized = []string{
	`{"error":"Unauthorized","detail":"Unauthorized"}`, "Unauthorized",
	`{"error":{"message":"Unauthorized","type":"authentication_error","code":null,"param":null}}`,
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Unauthorized"}}`,
	`{"error":{"code":401,"status":"UNAUTHENTICATED","message":"Unauthorized","details":[]}}`,
}

// routeTable has every route of the contract.
func routeTable(run string) map[string]routeAccess {
	s1 := ofBob + "/s1"
	response := "resp_" + base64.RawURLEncoding.EncodeToString([]byte("weather\x00s1\x00"+run))
	task := base64.RawURLEncoding.EncodeToString([]byte("s1\x00" + run))
	all := map[string]routeAccess{
		"GET /":             {"/", "", yours, yours, yours}, // the UI
		"GET /health":       {"/health", "", yours, yours, yours},
		"GET /healthz":      {"/healthz", "", yours, yours, yours},
		"GET /readyz":       {"/readyz", "", yours, yours, yours},
		"GET /version":      {"/version", "", yours, yours, closed},
		"GET /openapi.json": {"/openapi.json", "", yours, yours, closed},
		"GET /docs":         {"/docs", "", yours, yours, closed},

		"GET /list-apps":           {"/list-apps", "", yours, yours, closed},
		"GET /faces":               {"/faces", "", yours, yours, closed},
		"GET /oauth/callback":      {"/oauth/callback", "", hidden, hidden, hidden},
		"GET /oauth/start":         {"/oauth/start", "", hidden, hidden, hidden},
		"POST /oauth/start":        {"/oauth/start", "", hidden, hidden, hidden},
		"GET /apps/{app}/app-info": {"/apps/weather/app-info", "", denied, denied, closed},
		"GET /usage":               {"/usage?userId=bob", "", yours, hidden, closed},
		"GET /prices":              {"/prices", "", yours, yours, closed},
		"GET /metrics":             {"/metrics", "", denied, denied, closed},

		"POST /run":     {"/run", bobRuns, yours, hidden, closed},
		"POST /run_sse": {"/run_sse", bobRuns, yours, hidden, closed},

		"GET /apps/{app}/users/{user}/sessions":                                {ofBob, "", yours, hidden, closed},
		"POST /apps/{app}/users/{user}/sessions":                               {ofBob, "{}", yours, hidden, closed},
		"GET /apps/{app}/users/{user}/sessions/{session}":                      {s1, "", yours, hidden, closed},
		"POST /apps/{app}/users/{user}/sessions/{session}":                     {ofBob + "/new", "{}", yours, hidden, closed},
		"PATCH /apps/{app}/users/{user}/sessions/{session}":                    {s1, `{"stateDelta":{"k":1}}`, yours, hidden, closed},
		"DELETE /apps/{app}/users/{user}/sessions/{session}":                   {ofBob + "/victim", "", yours, hidden, closed},
		"GET /apps/{app}/users/{user}/sessions/{session}/runs":                 {s1 + "/runs", "", yours, hidden, closed},
		"POST /apps/{app}/users/{user}/sessions/{session}/runs":                {s1 + "/runs", `{"newMessage":{"parts":[{"text":"hi"}]}}`, http.StatusAccepted, hidden, closed},
		"GET /apps/{app}/users/{user}/sessions/{session}/runs/{run}":           {s1 + "/runs/" + run, "", yours, hidden, closed},
		"GET /apps/{app}/users/{user}/sessions/{session}/runs/{run}/events":    {s1 + "/runs/" + run + "/events", "", yours, hidden, closed},
		"POST /apps/{app}/users/{user}/sessions/{session}/runs/{run}/cancel":   {s1 + "/runs/" + run + "/cancel", "", yours, hidden, closed},
		"POST /apps/{app}/users/{user}/sessions/{session}/runs/{run}/feedback": {s1 + "/runs/" + run + "/feedback", `{"rating":"up"}`, yours, hidden, closed},
		"GET /apps/{app}/users/{user}/sessions/{session}/feedback":             {s1 + "/feedback", "", yours, hidden, closed},
		"GET /apps/{app}/feedback":                                             {"/apps/weather/feedback?userId=bob", "", yours, hidden, closed},
		"POST /apps/{app}/users/{user}/sessions/{session}/fork":                {s1 + "/fork", "{}", yours, hidden, closed},
		"POST /apps/{app}/users/{user}/sessions/{session}/rewind":              {ofBob + "/back/rewind", `{"rewindBeforeInvocationId":"e-1"}`, yours, hidden, closed},
		"GET /apps/{app}/users/{user}/sessions/{session}/export":               {s1 + "/export", "", yours, hidden, closed},
		"POST /apps/{app}/users/{user}/sessions/{session}/import":              {ofBob + "/imported/import", `{"parley":1,"appName":"weather","userId":"alice","sessionId":"x","state":{},"createTime":1}` + "\n", yours, hidden, closed},
		"GET /apps/{app}/users/{user}/sessions/{session}/shares":               {s1 + "/shares", "", yours, hidden, closed},
		"POST /apps/{app}/users/{user}/sessions/{session}/shares":              {s1 + "/shares", "{}", http.StatusCreated, hidden, closed},
		"DELETE /apps/{app}/users/{user}/sessions/{session}/shares/{share}":    {s1 + "/shares/none", "", hidden, hidden, closed},
		// The link is the right, so every caller may try one.
		"GET /shared/{token}":                         {"/shared/none", "", hidden, hidden, hidden},
		"GET /shared/{token}/conversation":            {"/shared/none/conversation", "", hidden, hidden, hidden},
		"GET /shared/{token}/files/{file}":            {"/shared/none/files/0", "", hidden, hidden, hidden},
		"GET /apps/{app}/users/{user}/credentials":    {"/apps/weather/users/bob/credentials", "", yours, hidden, closed},
		"DELETE /apps/{app}/users/{user}/credentials": {"/apps/weather/users/bob/credentials", "", yours, hidden, closed},

		"GET /apps/{app}/users/{user}/sessions/{session}/artifacts":                                    {s1 + "/artifacts", "", yours, hidden, closed},
		"POST /apps/{app}/users/{user}/sessions/{session}/artifacts":                                   {s1 + "/artifacts", `{"filename":"b","artifact":{"text":"x"}}`, yours, hidden, closed},
		"GET /apps/{app}/users/{user}/sessions/{session}/artifacts/{name}":                             {s1 + "/artifacts/f", "", yours, hidden, closed},
		"PUT /apps/{app}/users/{user}/sessions/{session}/artifacts/{name}":                             {s1 + "/artifacts/c", "{}", yours, hidden, closed},
		"DELETE /apps/{app}/users/{user}/sessions/{session}/artifacts/{name}":                          {s1 + "/artifacts/gone", "", yours, hidden, closed},
		"GET /apps/{app}/users/{user}/sessions/{session}/artifacts/{name}/versions":                    {s1 + "/artifacts/f/versions", "", yours, hidden, closed},
		"GET /apps/{app}/users/{user}/sessions/{session}/artifacts/{name}/versions/metadata":           {s1 + "/artifacts/f/versions/metadata", "", yours, hidden, closed},
		"GET /apps/{app}/users/{user}/sessions/{session}/artifacts/{name}/versions/{version}":          {s1 + "/artifacts/f/versions/0", "", yours, hidden, closed},
		"GET /apps/{app}/users/{user}/sessions/{session}/artifacts/{name}/versions/{version}/metadata": {s1 + "/artifacts/f/versions/0/metadata", "", yours, hidden, closed},
		"GET /apps/{app}/users/{user}/search":                                                          {"/apps/weather/users/bob/search?q=hello", "", yours, hidden, closed},
		"PATCH /apps/{app}/users/{user}/memory":                                                        {"/apps/weather/users/bob/memory", `{"sessionId":"s1"}`, yours, hidden, closed},
		"DELETE /apps/{app}/users/{user}/memory":                                                       {"/apps/weather/users/bob/memory", "", yours, hidden, closed},

		"GET /inbox":                 {"/inbox", "", yours, yours, closed},
		"GET /inbox/{entry}":         {"/inbox/WyJ3ZWF0aGVyIiwiYm9iIiwiczEiLCJ4Il0", "", hidden, hidden, closed},
		"POST /inbox/{entry}/answer": {"/inbox/WyJ3ZWF0aGVyIiwiYm9iIiwiczEiLCJ4Il0/answer", `{"response":true}`, hidden, hidden, closed},
		"POST /inbox/{entry}/assign": {"/inbox/WyJ3ZWF0aGVyIiwiYm9iIiwiczEiLCJ4Il0/assign", `{"assignee":"bob"}`, hidden, hidden, closed},
		"POST /inbox/{entry}/link":   {"/inbox/WyJ3ZWF0aGVyIiwiYm9iIiwiczEiLCJ4Il0/link", "", hidden, hidden, closed},
		"GET /inbox/link":            {"/inbox/link?t=x", "", hidden, hidden, hidden},
		"POST /inbox/link":           {"/inbox/link", "", hidden, hidden, hidden},

		"GET /apps/{app}/users/{user}/memory":             {"/apps/weather/users/bob/memory", "", yours, hidden, closed},
		"PATCH /apps/{app}/users/{user}/memory/{memory}":  {"/apps/weather/users/bob/memory/0", `{"text":"x"}`, hidden, hidden, closed},
		"DELETE /apps/{app}/users/{user}/memory/{memory}": {"/apps/weather/users/bob/memory/0", "", hidden, hidden, closed},

		"GET /apps/{app}/users/{user}/schedules":                    {"/apps/weather/users/bob/schedules", "", yours, hidden, closed},
		"POST /apps/{app}/users/{user}/schedules":                   {"/apps/weather/users/bob/schedules", `{"id":"new","cron":"@yearly","newMessage":{"parts":[{"text":"hi"}]}}`, http.StatusCreated, hidden, closed},
		"GET /apps/{app}/users/{user}/schedules/{schedule}":         {"/apps/weather/users/bob/schedules/none", "", hidden, hidden, closed},
		"PATCH /apps/{app}/users/{user}/schedules/{schedule}":       {"/apps/weather/users/bob/schedules/none", `{"paused":true}`, hidden, hidden, closed},
		"DELETE /apps/{app}/users/{user}/schedules/{schedule}":      {"/apps/weather/users/bob/schedules/none", "", hidden, hidden, closed},
		"POST /apps/{app}/users/{user}/schedules/{schedule}/run":    {"/apps/weather/users/bob/schedules/none/run", "", hidden, hidden, closed},
		"GET /apps/{app}/users/{user}/schedules/{schedule}/firings": {"/apps/weather/users/bob/schedules/none/firings", "", hidden, hidden, closed},

		// A caller sees the triggers that act for it. Requests for a trigger are checked by the trigger.
		"GET /apps/{app}/triggers":                   {"/apps/weather/triggers", "", yours, yours, closed},
		"POST /apps/{app}/triggers":                  {"/apps/weather/triggers", `{"check":"secret","userId":"bob"}`, http.StatusCreated, denied, closed},
		"GET /apps/{app}/triggers/{name}":            {"/apps/weather/triggers/none", "", hidden, hidden, closed},
		"PATCH /apps/{app}/triggers/{name}":          {"/apps/weather/triggers/none", `{"paused":true}`, hidden, hidden, closed},
		"DELETE /apps/{app}/triggers/{name}":         {"/apps/weather/triggers/none", "", hidden, hidden, closed},
		"GET /apps/{app}/triggers/{name}/deliveries": {"/apps/weather/triggers/none/deliveries", "", hidden, hidden, closed},
		"POST /apps/{app}/triggers/{name}":           {"/apps/weather/triggers/none", "{}", closed, closed, closed},
		// Webhooks get what concerns all users.
		"GET /apps/{app}/webhooks":                                         {"/apps/weather/webhooks", "", denied, denied, closed},
		"POST /apps/{app}/webhooks":                                        {"/apps/weather/webhooks", `{"url":"https://example.com/"}`, denied, denied, closed},
		"GET /apps/{app}/webhooks/{webhook}":                               {"/apps/weather/webhooks/none", "", denied, denied, closed},
		"PATCH /apps/{app}/webhooks/{webhook}":                             {"/apps/weather/webhooks/none", `{"events":[]}`, denied, denied, closed},
		"DELETE /apps/{app}/webhooks/{webhook}":                            {"/apps/weather/webhooks/none", "", denied, denied, closed},
		"POST /apps/{app}/webhooks/{webhook}/rotate":                       {"/apps/weather/webhooks/none/rotate", "", denied, denied, closed},
		"POST /apps/{app}/webhooks/{webhook}/test":                         {"/apps/weather/webhooks/none/test", "", denied, denied, closed},
		"GET /apps/{app}/webhooks/{webhook}/deliveries":                    {"/apps/weather/webhooks/none/deliveries", "", denied, denied, closed},
		"POST /apps/{app}/webhooks/{webhook}/deliveries/{delivery}/replay": {"/apps/weather/webhooks/none/deliveries/1/replay", "", denied, denied, closed},
		"GET /apps/{app}/failed-deliveries":                                {"/apps/weather/failed-deliveries", "", denied, denied, closed},
		"POST /apps/{app}/failed-deliveries/{delivery}/replay":             {"/apps/weather/failed-deliveries/1/replay", "", denied, denied, closed},

		"GET /dev/apps/{app}/runs":                  {"/dev/apps/weather/runs?userId=bob", "", yours, hidden, closed},
		"GET /dev/apps/{app}/users/{user}/runs":     {"/dev/apps/weather/users/bob/runs", "", yours, hidden, closed},
		"GET /dev/apps/{app}/users/{user}/sessions": {"/dev/apps/weather/users/bob/sessions", "", yours, hidden, closed},
		// Only developers call tools, also as themselves.
		"GET /dev/apps/{app}/users/{user}/tools":       {"/dev/apps/weather/users/bob/tools", "", denied, denied, closed},
		"POST /dev/apps/{app}/users/{user}/tools/call": {"/dev/apps/weather/users/bob/tools/call", `{"agent":"weather","tool":"get_weather","args":{}}`, denied, denied, closed},

		// The user is that of the token, so every user may: here with nothing to run.
		"POST /apps/{app}/agui":             {"/apps/weather/agui", `{"threadId":"s1","runId":"a1","messages":[]}`, invalid, invalid, closed},
		"GET /apps/{app}/agui":              {"/apps/weather/agui?threadId=s1&runId=" + run, "", yours, hidden, closed},
		"POST /apps/{app}/agui/cancel":      {"/apps/weather/agui/cancel", `{"threadId":"s1","runId":"` + run + `"}`, yours, hidden, closed},
		"GET /apps/{app}/agui/capabilities": {"/apps/weather/agui/capabilities", "", yours, yours, closed},
		// A chat of another user is a chat of the caller's own that does not exist. The message answers nothing.
		"POST /apps/{app}/aisdk":               {"/apps/weather/aisdk", `{"id":"s1","messages":[{"id":"a1","role":"assistant","parts":[]}]}`, invalid, invalid, closed},
		"GET /apps/{app}/aisdk/{chat}":         {"/apps/weather/aisdk/s1", "", yours, yours, closed},
		"GET /apps/{app}/aisdk/{chat}/stream":  {"/apps/weather/aisdk/back/stream", "", http.StatusNoContent, http.StatusNoContent, closed},
		"POST /apps/{app}/aisdk/{chat}/cancel": {"/apps/weather/aisdk/s1/cancel", "", http.StatusNoContent, http.StatusNoContent, closed},

		// The card is public, and says no more than what the agent is for. A task of another user does not exist.
		"GET /.well-known/agent-card.json":                                   {"/.well-known/agent-card.json", "", yours, yours, yours},
		"GET /a2a/{app}/.well-known/agent-card.json":                         {"/a2a/weather/.well-known/agent-card.json", "", yours, yours, yours},
		"POST /a2a/{app}":                                                    {"/a2a/weather", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"` + task + `"}}`, yours, yours, closed},
		"POST /a2a/{app}/":                                                   {"/a2a/weather/", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"` + task + `"}}`, yours, yours, closed},
		"POST /a2a/{app}/message:send":                                       {"/a2a/weather/message:send", `{}`, http.StatusBadRequest, http.StatusBadRequest, closed},
		"POST /a2a/{app}/message:stream":                                     {"/a2a/weather/message:stream", `{}`, http.StatusBadRequest, http.StatusBadRequest, closed},
		"GET /a2a/{app}/tasks":                                               {"/a2a/weather/tasks", "", yours, yours, closed},
		"GET /a2a/{app}/tasks/{task}":                                        {"/a2a/weather/tasks/" + task, "", yours, hidden, closed},
		"POST /a2a/{app}/tasks/{task}":                                       {"/a2a/weather/tasks/" + task + ":cancel", "", http.StatusConflict, hidden, closed},
		"GET /a2a/{app}/tasks/{task}/pushNotificationConfigs":                {"/a2a/weather/tasks/" + task + "/pushNotificationConfigs", "", yours, hidden, closed},
		"POST /a2a/{app}/tasks/{task}/pushNotificationConfigs":               {"/a2a/weather/tasks/" + task + "/pushNotificationConfigs", `{"id":"c","url":"https://8.8.8.8/hook"}`, yours, hidden, closed},
		"GET /a2a/{app}/tasks/{task}/pushNotificationConfigs/{config}":       {"/a2a/weather/tasks/" + task + "/pushNotificationConfigs/none", "", hidden, hidden, closed},
		"DELETE /a2a/{app}/tasks/{task}/pushNotificationConfigs/{config}":    {"/a2a/weather/tasks/" + task + "/pushNotificationConfigs/c", "", yours, hidden, closed},
		"POST /a2a/{app}/v1/message:send":                                    {"/a2a/weather/v1/message:send", `{}`, http.StatusBadRequest, http.StatusBadRequest, closed},
		"POST /a2a/{app}/v1/message:stream":                                  {"/a2a/weather/v1/message:stream", `{}`, http.StatusBadRequest, http.StatusBadRequest, closed},
		"GET /a2a/{app}/v1/tasks/{task}":                                     {"/a2a/weather/v1/tasks/" + task, "", yours, hidden, closed},
		"POST /a2a/{app}/v1/tasks/{task}":                                    {"/a2a/weather/v1/tasks/" + task + ":cancel", "", http.StatusConflict, hidden, closed},
		"GET /a2a/{app}/v1/tasks/{task}/pushNotificationConfigs":             {"/a2a/weather/v1/tasks/" + task + "/pushNotificationConfigs", "", yours, hidden, closed},
		"POST /a2a/{app}/v1/tasks/{task}/pushNotificationConfigs":            {"/a2a/weather/v1/tasks/" + task + "/pushNotificationConfigs", `{"pushNotificationConfig":{"id":"c","url":"https://8.8.8.8/hook"}}`, yours, hidden, closed},
		"GET /a2a/{app}/v1/tasks/{task}/pushNotificationConfigs/{config}":    {"/a2a/weather/v1/tasks/" + task + "/pushNotificationConfigs/none", "", hidden, hidden, closed},
		"DELETE /a2a/{app}/v1/tasks/{task}/pushNotificationConfigs/{config}": {"/a2a/weather/v1/tasks/" + task + "/pushNotificationConfigs/c", "", yours, hidden, closed},
		"GET /a2a/{app}/v1/card":                                             {"/a2a/weather/v1/card", "", yours, yours, closed},
		"GET /a2a/{app}/extendedAgentCard":                                   {"/a2a/weather/extendedAgentCard", "", yours, yours, closed},

		// The session in the arguments is one of the caller's own. The metadata tells callers how to log in, and this
		// server has no issuer.
		"POST /apps/{app}/mcp":                                     {"/apps/weather/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, yours, yours, closed},
		"GET /apps/{app}/mcp":                                      {"/apps/weather/mcp", "", http.StatusMethodNotAllowed, http.StatusMethodNotAllowed, closed},
		"GET /.well-known/oauth-protected-resource":                {"/.well-known/oauth-protected-resource", "", hidden, hidden, hidden},
		"GET /.well-known/oauth-protected-resource/apps/{app}/mcp": {"/.well-known/oauth-protected-resource/apps/weather/mcp", "", hidden, hidden, hidden},

		"GET /v1/models":                     {"/v1/models", "", yours, yours, closed},
		"GET /v1/models/{model}":             {"/v1/models/weather", "", yours, yours, closed},
		"POST /v1/responses":                 {"/v1/responses", `{"model":"weather","input":[]}`, http.StatusBadRequest, http.StatusBadRequest, closed},
		"GET /v1/responses/{id}":             {"/v1/responses/" + response, "", yours, hidden, closed},
		"DELETE /v1/responses/{id}":          {"/v1/responses/resp_x", "", hidden, hidden, closed},
		"POST /v1/responses/{id}/cancel":     {"/v1/responses/" + response + "/cancel", "", yours, hidden, closed},
		"GET /v1/responses/{id}/input_items": {"/v1/responses/" + response + "/input_items", "", yours, hidden, closed},
		"POST /v1/chat/completions":          {"/v1/chat/completions", `{"model":"weather","messages":[]}`, http.StatusBadRequest, http.StatusBadRequest, closed},

		// A platform that hosts the server calls these. The user is the caller.
		"GET /ping":                       {"/ping", "", yours, yours, yours},
		"POST /invocations":               {"/invocations", `{}`, invalid, invalid, closed},
		"POST /":                          {"/", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"` + task + `"}}`, yours, yours, closed},
		"POST /mcp":                       {"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, yours, yours, closed},
		"GET /readiness":                  {"/readiness", "", yours, yours, yours},
		"POST /responses":                 {"/responses", `{"input":[]}`, http.StatusBadRequest, http.StatusBadRequest, closed},
		"GET /responses/{id}":             {"/responses/" + response, "", yours, hidden, closed},
		"DELETE /responses/{id}":          {"/responses/resp_x", "", hidden, hidden, closed},
		"POST /responses/{id}/cancel":     {"/responses/" + response + "/cancel", "", yours, hidden, closed},
		"GET /responses/{id}/input_items": {"/responses/" + response + "/input_items", "", yours, hidden, closed},

		// Every caller can ask about itself. Only pages of the server can sign a user in or out, and this server has
		// no issuer.
		"GET /dev-ui/caller":          {"/dev-ui/caller", "", yours, yours, yours},
		"GET /dev-ui/signin":          {"/dev-ui/signin", "", hidden, hidden, hidden},
		"GET /dev-ui/signin/callback": {"/dev-ui/signin/callback?state=s&code=c", "", hidden, hidden, hidden},
		"POST /dev-ui/signin":         {"/dev-ui/signin", `{"token":"t"}`, denied, denied, denied},
		"POST /dev-ui/signout":        {"/dev-ui/signout", "", denied, denied, denied},
	}
	maps.Copy(all, devRoutes(run))
	return all
}

// devRoutes has the routes for developers, which are closed to users.
func devRoutes(run string) map[string]routeAccess {
	const event = "/users/bob/sessions/s1/events/1/graph"
	all := map[string]routeAccess{}
	add := func(route, path, body string) { all[route] = routeAccess{path, body, denied, denied, closed} }
	add("GET /dev/apps/{app}/graph", "/dev/apps/weather/graph", "")
	add("GET /dev/apps/{app}/build_graph", "/dev/apps/weather/build_graph", "")
	add("GET /dev/apps/{app}/build_graph_image", "/dev/apps/weather/build_graph_image", "")
	add("GET /dev/apps/{app}/metrics-info", "/dev/apps/weather/metrics-info", "")
	add("GET /dev/apps/{app}/eval_history", "/dev/apps/weather/eval_history", "")
	add("GET /dev/apps/{app}/eval_criteria", "/dev/apps/weather/eval_criteria", "")
	add("PUT /dev/apps/{app}/eval_criteria", "/dev/apps/weather/eval_criteria", `{"evalMetrics":[{"metricName":"response_match_score","threshold":1}]}`)
	add("GET /dev/apps/{app}/evaluation", "/dev/apps/weather/evaluation", "")
	add("DELETE /dev/apps/{app}/evaluation", "/dev/apps/weather/evaluation", "")
	add("GET /dev/apps/{app}/debug/trace/{event}", "/dev/apps/weather/debug/trace/"+run, "")
	add("GET /dev/apps/{app}/debug/trace/session/{session}", "/dev/apps/weather/debug/trace/session/s1", "")
	add("GET /dev/apps/{app}/users/{user}/sessions/{session}/runs/{run}/recording", "/dev"+ofBob+"/s1/runs/"+run+"/recording", "")
	add("POST /dev/apps/{app}/users/{user}/sessions/{session}/runs/{run}/replay", "/dev"+ofBob+"/s1/runs/"+run+"/replay", "{}")
	add("GET /debug/trace/{event}", "/debug/trace/"+run, "")
	add("GET /debug/trace/session/{session}", "/debug/trace/session/s1", "")
	for pattern, app := range map[string]string{"/dev/apps/{app}": "/dev/apps/weather", "/apps/{app}": "/apps/weather"} {
		add("GET "+pattern+"/users/{user}/sessions/{session}/events/{event}/graph", app+event, "")
		for _, names := range [][]string{{"/eval_sets", "/evals", "/add_session", "/run_eval", "/eval_results"}, {"/eval-sets", "/eval-cases", "/add-session", "/run", "/eval-results"}} {
			sets, cases, results := names[0], names[1], names[4]
			add("GET "+pattern+sets, app+sets, "")
			add("POST "+pattern+sets, app+sets, `{"evalSet":{"evalSetId":"smoke","evalCases":[]}}`)
			for _, method := range []string{"GET", "POST", "DELETE"} {
				add(method+" "+pattern+sets+"/{set}", app+sets+"/smoke", "")
			}
			add("POST "+pattern+sets+"/{set}"+names[2], app+sets+"/smoke"+names[2], `{"evalId":"c","userId":"bob","sessionId":"s1"}`)
			add("POST "+pattern+sets+"/{set}"+names[3], app+sets+"/smoke"+names[3], `{"evalMetrics":[{"metricName":"response_match_score","threshold":1}]}`)
			add("GET "+pattern+sets+"/{set}"+cases, app+sets+"/smoke"+cases, "")
			add("POST "+pattern+sets+"/{set}"+cases, app+sets+"/smoke"+cases, `{"evalId":"new","conversation":[]}`)
			add("GET "+pattern+sets+"/{set}"+cases+"/{case}", app+sets+"/smoke"+cases+"/c", "")
			add("PUT "+pattern+sets+"/{set}"+cases+"/{case}", app+sets+"/smoke"+cases+"/c", `{"evalId":"c"}`)
			add("DELETE "+pattern+sets+"/{set}"+cases+"/{case}", app+sets+"/smoke"+cases+"/c", "")
			add("GET "+pattern+results, app+results, "")
			add("GET "+pattern+results+"/{result}", app+results+"/r", "")
		}
	}
	return all
}

// prepare creates bob's sessions and returns the id of a run.
func (g *gated) prepare(bob string) (run string) {
	g.t.Helper()
	for _, id := range []string{"s1", "victim"} {
		g.want(200, bob, "POST", ofBob+"/"+id, `{"state":{"secret":"of bob"}}`)
	}
	g.want(200, bob, "POST", ofBob, `{"sessionId":"back","events":[{"id":"1","author":"user","invocationId":"e-1","content":{"role":"user","parts":[{"text":"hi"}]}}]}`)
	for _, name := range []string{"f", "gone"} {
		g.want(200, bob, "POST", ofBob+"/s1/artifacts", `{"filename":"`+name+`","artifact":{"text":"of bob"}}`)
	}
	return g.want(200, bob, "POST", "/run", bobRuns).Header().Get("X-Parley-Run")
}

// everything returns all data of bob.
func (g *gated) everything(bob string) string {
	g.t.Helper()
	list := g.want(200, bob, "GET", ofBob, "").Body.String()
	return list + g.want(200, bob, "GET", ofBob+"/s1", "").Body.String() + g.want(200, bob, "GET", ofBob+"/s1/runs", "").Body.String() +
		g.want(200, bob, "GET", ofBob+"/s1/artifacts", "").Body.String()
}

// checkRoutes sends a request to every route: without a token, with each bad token, as alice, and as bob, who owns the
// data.
func (g *gated) checkRoutes(bob, alice string, bad map[string]string) {
	g.t.Helper()
	run := g.prepare(bob)
	all := routeTable(run)
	const metadata = "/.well-known/oauth-protected-resource"
	if g.issuers { // clients of MCP may ask where users log in
		for _, route := range []string{"GET " + metadata, "GET " + metadata + "/apps/{app}/mcp"} {
			d := all[route]
			d.own, d.other, d.anonymous = yours, yours, yours
			all[route] = d
		}
	}
	for _, route := range testkit.Operations(g.t) {
		if _, ok := all[route]; !ok {
			g.t.Errorf("%s is new: add it to routeTable", route)
		}
	}
	before := g.everything(bob)
	for route, d := range all {
		method, _, _ := strings.Cut(route, " ")
		for why, token := range bad {
			rec := g.want(d.anonymous, token, method, d.path, d.body)
			if rec.Code != http.StatusUnauthorized {
				continue
			}
			challenge := `Bearer realm="parley"`
			if token != "" {
				challenge += `, error="invalid_token"`
			}
			if g.issuers && strings.HasSuffix(route, " /apps/{app}/mcp") && !strings.Contains(route, metadata) {
				challenge += `, resource_metadata="http://example.com` + metadata + d.path + `"`
			}
			if got := rec.Header().Get("WWW-Authenticate"); got != challenge {
				g.t.Errorf("%s, %s: WWW-Authenticate is %q", route, why, got)
			}
			if got := rec.Body.String(); !slices.Contains(unauthorized, got) {
				g.t.Errorf("%s, %s: the response reveals too much: %s", route, why, got)
			}
		}
		there := g.want(d.other, alice, method, d.path, d.body)
		// A session that exists and one that does not must look the same.
		for _, swap := range [][2]string{{"/s1", "/s9"}, {"/victim", "/s9"}, {`"s1"`, `"s9"`}} {
			path, body := strings.Replace(d.path, swap[0], swap[1], 1), strings.Replace(d.body, swap[0], swap[1], 1)
			if d.other != http.StatusNotFound || path == d.path && body == d.body {
				continue
			}
			missing := g.want(d.other, alice, method, path, body)
			if a, b := strings.ReplaceAll(strings.ReplaceAll(there.Body.String(), "s1", "s9"), "victim", "s9"), missing.Body.String(); a != b {
				g.t.Errorf("%s: alice can tell that it is there: %s and %s", route, a, b)
			}
		}
		if strings.Contains(there.Body.String(), "of bob") {
			g.t.Errorf("%s: alice sees %s", route, there.Body)
		}
	}
	if after := g.everything(bob); after != before {
		g.t.Errorf("others have changed bob's data:\n%s\nwas\n%s", after, before)
	}
	g.want(401, "", "GET", "/nothing/here", "")
	g.want(404, alice, "GET", "/nothing/here", "")
	for route, d := range all {
		method, _, _ := strings.Cut(route, " ")
		g.want(d.own, bob, method, d.path, d.body)
	}
	for why, token := range bad {
		if token != "" && strings.Contains(g.log.String(), token) {
			g.t.Errorf("the token, %s, is in the log", why)
		}
	}
}
