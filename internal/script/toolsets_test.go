package script_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
)

// pets is an API that tells how it was called.
func pets(t *testing.T) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/openapi.json" {
			_, _ = io.WriteString(w, petsDocument(r.Host))
			return
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.NewEncoder(w).Encode(map[string]string{
			"at": r.Method + " " + r.URL.RequestURI(), "body": string(body), "key": r.Header.Get("X-Key"), "team": r.Header.Get("X-Team"),
		})
	}))
	t.Cleanup(srv.Close)
	return srv
}

func petsDocument(host string) string {
	return fmt.Sprintf(`{"openapi":"3.0.3","info":{"title":"Pets","version":"1"},"servers":[{"url":"http://%s"}],"paths":{
		"/pets/{petId}":{"get":{"operationId":"getPet","summary":"Finds a pet.","parameters":[{"name":"petId","in":"path","required":true,"schema":{"type":"string"}}],"responses":{"200":{"description":"A pet."}}}},
		"/pets":{"post":{"operationId":"addPet","summary":"Adds a pet.","requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"name":{"type":"string"}}}}}},"responses":{"201":{"description":"Done."}}}}}}`, host)
}

// toolStory is what happens in an application that is asked once.
func toolStory(t *testing.T, models says, code string) string {
	t.Helper()
	h, err := load(t, models, code)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for ev, err := range h.send(t.Context(), event.Text(event.RoleUser, "Well?"), false) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, lineOf(ev))
	}
	return strings.Join(all, "\n")
}

// TestToolsetsOfDocuments declares an API in all the ways that there are. The
// tool is called by Go, by the author's code around it, or both.
func TestToolsetsOfDocuments(t *testing.T) {
	t.Parallel()
	api := pets(t)
	const (
		call = `call get_pet{"pet_id":"a b"}` + "\nDone."
		got  = `get_pet returned {"at":"GET /pets/a%20b","body":"","key":"","team":""}`
	)
	document := petsDocument(api.Listener.Addr().String())
	for name, c := range map[string]struct{ code, says, want string }{
		"text":         {"tools: [new adk.OpenAPIToolset({ specStr: text, specType: 'json' })]", call, got},
		"object":       {"tools: [new adk.OpenAPIToolset({ specDict: JSON.parse(text) })]", call, got},
		"address":      {"tools: [new adk.OpenAPIToolset({ specUrl: address + '/openapi.json' })]", call, got},
		"a promise":    {"tools: new ts.OpenAPIToolset({ specStr: text }).getTools()", call, got},
		"awaited":      {"tools: await new ts.OpenAPIToolset({ specStr: text, specStrType: 'json' }).getTools()", call, got},
		"one":          {"tools: [new ts.OpenAPIToolset({ specStr: text }).getTool('get_pet')]", call, got},
		"a list":       {"tools: [new adk.OpenAPIToolset({ specStr: text, toolFilter: ['get_pet'] })]", "tell tools", "a: get_pet (Finds a pet.) {"},
		"an empty one": {"tools: [new adk.OpenAPIToolset({ specStr: text, toolFilter: [] })]", "tell tools", "; get_pet (Finds a pet.)"},
		"a predicate":  {"tools: [new adk.OpenAPIToolset({ specStr: text, toolFilter: (tool) => tool.name.startsWith('get') })]", "tell tools", "a: get_pet (Finds a pet.) {"},
		"a predicate that looks who it is for": {
			"tools: [new adk.OpenAPIToolset({ specStr: text, toolFilter: (tool, context) => context.userId === 'u' && tool.name.startsWith('get') })]", call, got,
		},
		"a prefix":   {"tools: [new adk.OpenAPIToolset({ specStr: text, prefix: 'zoo', toolFilter: ['zoo_get_pet'] })]", "call zoo_get_pet{\"pet_id\":\"1\"}\nDone.", `zoo_get_pet returned {"at":"GET /pets/1"`},
		"kept names": {"tools: [new adk.OpenAPIToolset({ specStr: text, preservePropertyNames: true })]", "call get_pet{\"petId\":\"1\"}\nDone.", `{"at":"GET /pets/1"`},
		"headers": {
			"tools: [new adk.OpenAPIToolset({ specStr: text, headerProvider: (ctx) => ({ 'X-Team': ctx.userId }) })]", call,
			`get_pet returned {"at":"GET /pets/a%20b","body":"","key":"","team":"u"}`,
		},
		"a key": {
			"tools: [new adk.OpenAPIToolset({ specStr: text, authScheme: { type: 'apiKey', in: 'header', name: 'X-Key' }, authCredential: { authType: 'apiKey', apiKey: 'hunter2-hunter2' } })]", call,
			`"key":"[redacted]"`,
		},
		"a key, later": {
			"tools: (await new adk.OpenAPIToolset({ specStr: text }).getTools()).map((tool) => { const [scheme, credential] = adk.tokenToSchemeCredential('apikey', 'header', 'X-Key', 'hunter2-hunter2'); tool.configureAuthScheme(scheme); tool.configureAuthCredential(credential); return tool; })",
			call, `"key":"[redacted]"`,
		},
		"another name": {
			"tools: [await (async () => { const tool = new ts.OpenAPIToolset({ specStr: text }).getTool('getPet'); await tool.bind(); tool.name = 'find'; tool.description = 'Found by the author.'; return tool; })()]",
			"call find{\"pet_id\":\"1\"}\nDone.", `find returned {"at":"GET /pets/1"`,
		},
		"by hand": {
			"tools: [new adk.RestApiTool('lookUp', 'Looks up.', { baseUrl: address, path: '/pets/{id}', method: 'GET' }, { parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }], responses: {} })]",
			"call lookUp{\"id\":\"7\"}\nDone.", `lookUp returned {"at":"GET /pets/7"`,
		},
		"by hand, in one object": {
			"tools: [new ts.RestApiTool({ name: 'look_up', description: 'Looks up.', endpoint: JSON.stringify({ base_url: address, path: '/pets', method: 'post' }), operation: {}, authScheme: new ts.ApiKeyAuthScheme('X-Key'), authCredential: new ts.ApiKeyCredential('hunter2-hunter2') })]",
			"call look_up{}\nDone.", `look_up returned {"at":"POST /pets","body":"","key":"[redacted]"`,
		},
		"of a parsed operation": {
			"tools: [adk.createRestApiTool({ name: 'look_up', description: 'Looks up.', endpoint: { baseUrl: address, path: '/pets', method: 'get' }, operation: { security: [{ gone: [] }] } }, { headerProvider: async () => ({ 'X-Team': 7 }) })]",
			"call look_up{}\nDone.", `"team":"7"`,
		},
		"wrapped": {
			`tools: (await new adk.OpenAPIToolset({ specStr: text }).getTools()).map((tool) => {
				const call = tool.runAsync.bind(tool);
				tool.runAsync = async (request) => ({ wrapped: (await call({ ...request, args: { pet_id: request.args.pet_id + '!' } })).at });
				return tool;
			})`,
			call, `get_pet returned {"wrapped":"GET /pets/a%20b%21"}`,
		},
		"called by another": {
			`tools: [new adk.FunctionTool({ name: 'both', description: 'Calls two.', execute: async (_, toolContext) => {
				const [get, add] = ['get_pet', 'add_pet'].map((name) => new adk.OpenAPIToolset({ specStr: text }).getTool(name));
				const answers = await Promise.all([get.runAsync({ args: { pet_id: '1' }, toolContext }), add.runAsync({ args: { name: 'Rex' }, toolContext })]);
				return { answers: answers.map((a) => a.at + a.body) };
			} })]`,
			"call both{}\nDone.", `both returned {"answers":["GET /pets/1","POST /pets{\"name\":\"Rex\"}"]}`,
		},
		"wrong arguments": {"tools: [new adk.OpenAPIToolset({ specStr: text })]", "call get_pet{}\nDone.", `get_pet returned {"error":"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code := fmt.Sprintf("import * as adk from '@google/adk';\nimport * as ts from 'adk-typescript';\nconst text = %s, address = %s;\nexport const rootAgent = new adk.LlmAgent({ name: 'a', model: 'gemini-2.5-flash', %s });",
				toJSON(document), toJSON(api.URL), c.code)
			if story := toolStory(t, says{flash: c.says}, code); !strings.Contains(story, c.want) {
				t.Errorf("no %q in:\n%s", c.want, story)
			}
		})
	}
}

// What is wrong with a document shows when the application is loaded.
func TestToolsetsThatDoNotLoad(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "openapi.yaml")
	if err := os.WriteFile(outside, []byte(petsDocument("localhost")), 0o600); err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{
		"new adk.OpenAPIToolset({})":                                                "one of specDict, specStr, specFile and specUrl",
		"new adk.OpenAPIToolset({ specStr: '{}', specUrl: 'x' })":                   "one of specDict, specStr, specFile and specUrl",
		"new adk.OpenAPIToolset({ specStr: 'swagger: 2.0' })":                       "the document is Swagger 2.0",
		"new adk.OpenAPIToolset({ specDict: { openapi: '3.0.3' } })":                "the document is not valid",
		"new adk.OpenAPIToolset({ specUrl: 'http://127.0.0.1:1/x' })":               "fetch the document",
		"new adk.OpenAPIToolset({ specFile: './missing.yaml' })":                    "ENOENT: no such file or directory, open './missing.yaml'",
		"new adk.OpenAPIToolset({ specFile: " + toJSON(outside) + " })":             "EACCES: permission denied",
		"new adk.OpenAPIToolset({ specFile: '../openapi.yaml' })":                   "EACCES: permission denied",
		"new adk.OpenAPIToolset({ specFile: './broken.yaml' })":                     "openapi: ./broken.yaml: ",
		"new adk.OpenAPIToolset({ specStr: text, toolFilter: ['nothing'] })":        "none of the document's operations passes the filter",
		"new ts.OpenAPIToolset({ specStr: text }).getTool('nothing')":               `There is no tool "nothing". The tools are: add_pet, get_pet.`,
		"new adk.OpenAPIToolset({ specStr: text, headerProvider: {} })":             "headerProvider must be a function",
		"new adk.OpenAPIToolset({ specStr: text, authScheme: { type: 'oauth2' } })": "an oauth2 scheme needs a flow",
		"new adk.RestApiTool('x', 'd', { baseUrl: 'http://x' }, {})":                `The RestApiTool "x" needs an endpoint with baseUrl, path and method`,
		"new adk.AuthenticatedFunctionTool({ name: 'f', execute: () => 1 })":        `The tool "f" needs an authConfig`,
		"new adk.OpenApiSpecParser()":                                               "OpenApiSpecParser is not supported by this runtime: use OpenAPIToolset",
		"new adk.AuthHandler({})":                                                   "AuthHandler is not supported by this runtime: the server logs users in",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := map[string]string{
				"broken.yaml": "openapi: [",
				"index.ts": fmt.Sprintf("import * as adk from '@google/adk';\nimport * as ts from 'adk-typescript';\nconst text = %s;\nexport const rootAgent = new adk.LlmAgent({ name: 'a', model: 'gemini-2.5-flash', tools: [%s] });",
					toJSON(petsDocument("localhost")), code),
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := serve(t, dir, says{flash: "Hi."})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s\nerror %v, want %q", code, err, want)
			}
			if err != nil && strings.Contains(err.Error(), dir) {
				t.Errorf("the error tells where the server keeps the agent: %v", err)
			}
		})
	}
}

// The values and functions around logins that authors import.
func TestAuthSurface(t *testing.T) {
	uses := []struct{ code, want string }{
		{"[adk.AuthCredentialTypes.OPEN_ID_CONNECT, ts.AuthSchemeType.apiKey, ts.AuthSchemeType.OAUTH2, adk.OAuthGrantType.AUTHORIZATION_CODE, adk.REQUEST_CREDENTIAL_FUNCTION_CALL_NAME]", `["openIdConnect","apiKey","oauth2","authorization_code","svc_request_credential"]`},
		{"[adk.getOAuthGrantTypeFromFlow({ authorizationCode: {} }), ts.getOAuthGrantTypeFromFlow({ clientCredentials: {} }), ts.getOAuthGrantTypeFromFlow({}) ?? 'none']", `["authorization_code","client_credentials","none"]`},
		{"new ts.AuthConfig({ authScheme: new ts.OpenIdConnectWithConfig({ scopes: ['a'] }), rawAuthCredential: new ts.AuthCredential({ authType: 'oauth2' }) })", `{"authScheme":{"type":"openIdConnect","scopes":["a"]},"rawAuthCredential":{"authType":"oauth2"}}`},
		{"ts.tokenToSchemeCredential('oauth2Token', 'header', 'x', 'tok')", `[{"type":"http","scheme":"bearer","bearerFormat":"JWT"},{"authType":"http","http":{"scheme":"bearer","credentials":{"token":"tok"}}}]`},
		{"ts.tokenToSchemeCredential('apikey', 'cookie', 'sid', 'k')", `[{"type":"apiKey","in":"cookie","name":"sid"},{"authType":"apiKey","apiKey":"k"}]`},
		{"ts.tokenToSchemeCredential('apikey', 'body', 'sid', 'k')", `Invalid location for an API key: body`},
		{"ts.openidDictToSchemeCredential({ token_endpoint: 't' }, ['a'], { web: { client_id: 'c', client_secret: 's', redirect_uris: ['r'] } })[1].oauth2", `{"clientId":"c","clientSecret":"s","redirectUri":"r"}`},
		{"ts.serviceAccountDictToSchemeCredential({ client_email: 'e' }, ['a'])[1]", `{"authType":"serviceAccount","serviceAccount":{"serviceAccountCredential":{"client_email":"e"},"scopes":["a"]}}`},
		{"[new ts.BasicAuthScheme().generateHeaders({ username: 'a', password: 'b' }), new ts.BearerAuthScheme().generateHeaders('t'), new ts.ApiKeyAuthScheme().generateHeaders('k')]", `[{"Authorization":"Basic YTpi"},{"Authorization":"Bearer t"},{"X-API-Key":"k"}]`},
		{"[new ts.BasicCredential('a', 'b').toAuthCredential(), new ts.ApiKeyCredential('k').api_key]", `[{"authType":"http","http":{"scheme":"basic","credentials":{"username":"a","password":"b"}}},"k"]`},
		{"(async () => { const s = new adk.InMemoryCredentialService(), ctx = { appName: 'a', userId: 'u' }; await s.saveCredential({ credentialKey: 'k', exchangedAuthCredential: 1 }, ctx); return [await s.loadCredential({ credentialKey: 'k' }, ctx), await s.loadCredential({ credentialKey: 'k' }, { ...ctx, userId: 'v' }) ?? 'none']; })()", `[1,"none"]`},
		{"(async () => { const s = new adk.SessionStateCredentialService(), ctx = { state: new adk.State() }; await s.saveCredential({ credential_key: 'k', exchanged_auth_credential: { a: 1 } }, ctx); return s.loadCredential({ credentialKey: 'k' }, ctx); })()", `{"a":1}`},
	}
	code := "import * as adk from '@google/adk';\nimport * as ts from 'adk-typescript';\nconst said = [];\nconst attempt = async (use) => said.push(await (async () => JSON.stringify(await use()))().catch((error) => error.message));\n"
	for _, u := range uses {
		code += fmt.Sprintf("await attempt(() => %s);\n", u.code)
	}
	code += "export const rootAgent = new adk.LlmAgent({ name: 'a', model: 'gemini-2.5-flash', instruction: () => said.join('\\n') });"
	story := toolStory(t, says{flash: "tell instruction"}, code)
	for i, got := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(story, "a: "), " (end)"), "↵") {
		if !strings.Contains(got, uses[i].want) {
			t.Errorf("%s:\n%s, want %s", uses[i].code, got, uses[i].want)
		}
	}
}
