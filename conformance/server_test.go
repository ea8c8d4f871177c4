package conformance

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/testkit"
)

func TestC01_Health(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/health", "/healthz", "/readyz"} {
		if got := string(client(t).Do(t, http.MethodGet, path, nil).Want(t, http.StatusOK).Body); got != `{"status":"ok"}` {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestC02_Version(t *testing.T) {
	t.Parallel()
	var got map[string]string
	client(t).Do(t, http.MethodGet, "/version", nil).Want(t, http.StatusOK).Into(t, &got)
	for _, name := range []string{"version", "language", "language_version"} {
		if got[name] == "" {
			t.Errorf("no %s in %v", name, got)
		}
	}
}

func TestC03_ListApps(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"", "?relative_path=./", "?detailed=false"} {
		var got []string
		client(t).Do(t, http.MethodGet, "/list-apps"+query, nil).Want(t, http.StatusOK).Into(t, &got)
		if !slices.Contains(got, "weather") || !slices.IsSorted(got) {
			t.Errorf("%s: %q", query, got)
		}
	}
}

func TestC04_ListAppsDetailed(t *testing.T) {
	t.Parallel()
	var got struct{ Apps []object }
	client(t).Do(t, http.MethodGet, "/list-apps?detailed=true", nil).Want(t, http.StatusOK).Into(t, &got)
	want := object{
		"name": "weather", "rootAgentName": "weather_agent", "description": "Tells the weather in any city.",
		"language": "go", "isComputerUse": false,
	}
	i := slices.IndexFunc(got.Apps, func(app object) bool { return app["name"] == "weather" })
	if i < 0 {
		t.Fatalf("no weather in %v", got.Apps)
	}
	if diff := cmp.Diff(want, got.Apps[i]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestC78_AppInfo(t *testing.T) {
	t.Parallel()
	c := client(t)
	refusal(t, c.Do(t, http.MethodGet, "/apps/nope/app-info", nil), http.StatusNotFound)

	type tools []struct {
		FunctionDeclarations []struct {
			Name       string
			Parameters object
		}
	}
	var got struct {
		Name, RootAgentName, Description, Language string
		Agents                                     map[string]struct {
			Kind      string
			Tools     tools
			SubAgents []string
		}
	}
	c.Do(t, http.MethodGet, "/apps/weather/app-info", nil).Want(t, http.StatusOK).Into(t, &got)
	if got.Name != "weather" || got.RootAgentName != "weather_agent" || got.Description == "" || got.Language == "" {
		t.Errorf("%+v", got)
	}
	root := got.Agents[got.RootAgentName]
	if root.Kind != "LlmAgent" || len(root.Tools) != 1 || root.Tools[0].FunctionDeclarations[0].Name != "get_weather" {
		t.Errorf("%+v", root)
	}

	c.Do(t, http.MethodGet, "/apps/relay/app-info", nil).Want(t, http.StatusOK).Into(t, &got)
	if diff := cmp.Diff([]string{"reporter", "reviewer"}, got.Agents["relay_agent"].SubAgents); diff != "" {
		t.Errorf("sub-agents (-want +got):\n%s", diff)
	}
	if len(got.Agents["reviewer"].Tools) != 0 {
		t.Errorf("%+v", got.Agents["reviewer"])
	}
}

func TestUnknownPath(t *testing.T) {
	t.Parallel()
	c := client(t)
	for _, path := range []string{
		"/nope", "/run/", "/apps", "/apps/weather", "/apps/weather/users/u/sessions/s/more", "/dev-ui/", "/debug/pprof/",
		"/debug/trace/session/s", "/dev/apps/weather/debug/trace/e", "/apps/weather/eval_sets", "/builder/app/weather",
	} {
		refusal(t, c.Do(t, http.MethodGet, path, nil), http.StatusNotFound)
	}
}

func TestWrongMethod(t *testing.T) {
	t.Parallel()
	c := client(t)
	for _, tt := range []struct{ method, path, allow string }{
		{"GET", "/run", "POST"},
		{"GET", "/run_sse", "POST"},
		{"OPTIONS", "/run", "POST"},
		{"POST", "/health", "GET"},
		{"DELETE", "/list-apps", "GET"},
		{"PUT", "/apps/weather/users/u/sessions", "GET, POST"},
		{"PUT", "/apps/weather/users/u/sessions/s", "GET, POST, PATCH, DELETE"},
	} {
		r := c.Do(t, tt.method, tt.path, nil)
		refusal(t, r, http.StatusMethodNotAllowed)
		if got := strings.Join(r.Header.Values("Allow"), ", "); got != tt.allow {
			t.Errorf("%s %s: Allow is %q, want %q", tt.method, tt.path, got, tt.allow)
		}
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	c := client(t)
	const header = "X-Request-Id"
	if got := c.Do(t, http.MethodGet, "/health", nil, testkit.Header(header, "mine-1")).Header.Get(header); got != "mine-1" {
		t.Errorf("the client's request id came back as %q", got)
	}
	long := strings.Repeat("x", 257)
	first := c.Do(t, http.MethodGet, "/nope", nil, testkit.Header(header, long)).Header.Get(header)
	second := c.Do(t, http.MethodGet, "/nope", nil).Header.Get(header)
	if first == long || first == second {
		t.Errorf("request ids %q and %q", first, second)
	}
}
