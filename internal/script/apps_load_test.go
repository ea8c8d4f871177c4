package script

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/tool"
)

// loadLogged loads one application, and gives what it logged.
func loadLogged(t *testing.T, files map[string]string) (*Apps, string) {
	t.Helper()
	var log bytes.Buffer
	apps := loadApps(t, write(t, files), func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	return apps, log.String()
}

func TestConsoleNamesTheApplicationOnce(t *testing.T) {
	_, log := loadLogged(t, map[string]string{"index.ts": "console.log('hello');\n" + source(`return 1`)})
	if !strings.Contains(log, "app=app text=hello") || strings.Count(log, "app=") != 1 {
		t.Errorf("the log says %s", log)
	}
}

// Files end with process.exit when their own main has run. That ends no server,
// and the agents are there; an exit because something is wrong is an error.
func TestExitWhileLoading(t *testing.T) {
	for name, code := range map[string]string{"at once": "process.exit(0);", "awaited": "await null;\nprocess.exit();", "later": "setTimeout(() => process.exit(0));"} {
		apps, log := loadLogged(t, map[string]string{"index.ts": source(`return 1`) + code})
		if got := result(t, rootOf(t, apps, "app"), "fine"); got != `{"result":1}` {
			t.Errorf("%s: the tool says %s", name, got)
		}
		if name != "later" && !strings.Contains(log, "has no effect") {
			t.Errorf("%s: the log says %s", name, log)
		}
	}
	for name, code := range map[string]string{"at once": "process.exit(1);", "awaited": "await null;\nprocess.exit(2);", "set": "process.exitCode = 3;\nprocess.exit();"} {
		apps, _ := loadLogged(t, map[string]string{"index.ts": source(`return 1`) + code})
		_, _, err := apps.Agent("app")
		if err == nil || !strings.Contains(err.Error(), "while the application was loading") || !strings.Contains(err.Error(), "index.ts:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestImportMetaIsNotText(t *testing.T) {
	apps, _ := loadLogged(t, map[string]string{
		"lib/index.ts": `export const places = [import.meta.url, import.meta.dirname, import.meta.filename];
export const texts = ["import.meta.url", 'import.meta.dirname', ` + "`import.meta.filename ${1}`" + `, /import.meta.url/.source];`,
		"index.ts": `import { places, texts } from './lib'; // import.meta.url
` + source(`return { texts, places: places.map((p) => p.split('/').at(-1)), scheme: new URL(import.meta.url).protocol }`),
	})
	want := `{"texts":["import.meta.url","import.meta.dirname","import.meta.filename 1","import.meta.url"],"places":["index.ts","lib","index.ts"],"scheme":"file:"}`
	if got := result(t, rootOf(t, apps, "app"), "fine"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A tool is made before its function has its name back, which the bundler has
// changed because another module has one of that name.
func TestNamesOfFunctionsFurtherDown(t *testing.T) {
	apps, _ := loadLogged(t, map[string]string{
		"other.ts": "export function get() { return 'other'; }\n",
		"index.ts": `import { FunctionTool, LlmAgent } from '@google/adk';
import { get as other } from './other';
const tool = new FunctionTool(get);
export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [tool, new FunctionTool({ name: 'named', description: other(), execute: get })] });
function get() { return tool.name; }
`,
	})
	root := rootOf(t, apps, "app")
	if info, _ := agentrt.InfoOf(root); len(info.Tools) != 2 || info.Tools[0].Name != "get" || info.Tools[1].Name != "named" {
		t.Errorf("the tools are %+v", info.Tools)
	}
	if got := result(t, root, "get"); got != `{"result":"get"}` {
		t.Errorf("the tool says %s", got)
	}
}

func TestSettingsWithoutEffectAreNamed(t *testing.T) {
	_, log := loadLogged(t, map[string]string{"index.ts": `import { LlmAgent } from '@google/adk';
export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', generateContentConfig: { temperature: 0, thinkingConfig: { thinkingBudget: 0 }, httpOptions: {}, candidateCount: 2 } });`})
	if !strings.Contains(log, "httpOptions, candidateCount") || strings.Contains(log, "temperature") || strings.Contains(log, "thinking") {
		t.Errorf("the log says %s", log)
	}
}

// An engine that cannot even hold the runtime is an error like others, wherever
// the memory is exhausted.
func TestTooLittleMemoryToLoad(t *testing.T) {
	dir := write(t, map[string]string{"index.ts": source(`return 1`)})
	failed := 0
	for memory := int64(512 << 10); memory < 3<<20; memory += 128 << 10 {
		limits := engine.Limits{Memory: memory, Turn: time.Minute, Call: time.Minute}
		apps := loadApps(t, dir, func(o *Options) { o.Limits = &limits })
		_, _, err := apps.Agent("app")
		if err == nil {
			continue
		}
		failed++
		if !strings.Contains(err.Error(), "memory") {
			t.Errorf("with %d bytes: %v", memory, err)
		}
	}
	if failed == 0 {
		t.Error("it always worked")
	}
}

// A server must know at the start whether it has to keep logins.
func TestToolsThatNeedLogins(t *testing.T) {
	const scheme = `authScheme: { type: 'oauth2', flows: { authorizationCode: { authorizationUrl: 'https://a', tokenUrl: 'https://t', scopes: {} } } }`
	for config, want := range map[string]bool{
		`undefined`: false,
		`{ ` + scheme + `, rawAuthCredential: { authType: 'oauth2', oauth2: { clientId: 'c', clientSecret: 's' } } }`:         true,
		`{ ` + scheme + `, rawAuthCredential: { authType: 'oauth2', oauth2: { clientId: 'c', accessToken: 'there' } } }`:      false,
		`{ auth_scheme: { type: 'apiKey', in: 'header', name: 'K' } }`:                                                        true,
		`{ authScheme: { type: 'apiKey', in: 'header', name: 'K' }, rawAuthCredential: { authType: 'apiKey', apiKey: 'k' } }`: false,
		`'nonsense'`: false,
	} {
		apps, _ := loadLogged(t, map[string]string{"index.ts": `import { FunctionTool, LlmAgent } from '@google/adk';
export const rootAgent = new LlmAgent({ name: 'root', model: 'gemini-2.5-flash', tools: [
  new FunctionTool({ name: 'list', description: 'Lists.', authConfig: ` + config + `, execute: async () => 1 } as any),
] });`})
		if info, _ := agentrt.InfoOf(rootOf(t, apps, "app")); len(info.Tools) != 1 || info.Tools[0].NeedsLogin != want {
			t.Errorf("%s: the tools are %+v", config, info.Tools)
		}
	}
}

// What becomes of a call when a server dies is the author's to say, and a word
// that is none is an error.
func TestToolEffects(t *testing.T) {
	declare := func(effect string) map[string]string {
		return map[string]string{"index.ts": `import { FunctionTool, LlmAgent } from '@google/adk';
export const rootAgent = new LlmAgent({ name: 'root', model: 'gemini-2.5-flash', tools: [
  new FunctionTool({ name: 'pay', description: 'Pays.', effect: '` + effect + `', execute: async () => 1 } as any),
] });`}
	}
	for _, effect := range []tool.Effect{tool.Once, tool.Ask, tool.Idempotent, tool.Pure} {
		apps, _ := loadLogged(t, declare(string(effect)))
		if info, _ := agentrt.InfoOf(rootOf(t, apps, "app")); len(info.Tools) != 1 || info.Tools[0].Effect != effect {
			t.Errorf("%s: the tools are %+v", effect, info.Tools)
		}
	}
	apps, _ := loadLogged(t, declare("twice"))
	if _, _, err := apps.Agent("app"); err == nil || !strings.Contains(err.Error(), `the effect "twice" is not known`) {
		t.Errorf("an effect that is none: %v", err)
	}
}

// An application chooses the name of the call that asks for a login: in its
// package.json or, which counts more, in its App.
func TestCredentialCall(t *testing.T) {
	const agents = "import { App, LlmAgent } from '@google/adk';\nconst rootAgent = new LlmAgent({ name: 'root', model: 'scripted' });\n"
	const alone, svc, adk = agents + "export { rootAgent };", "svc_request_credential", "adk_request_credential"
	in := func(call string) string {
		return agents + "export const app = new App({ name: 'app', rootAgent, credentialCall: " + call + " });"
	}
	for name, tt := range map[string]struct{ index, pkg, want, problem string }{
		"none":                       {index: alone},
		"package.json":               {index: alone, pkg: `{"parley":{"credentialCall":"` + adk + `"}}`, want: adk},
		"package.json without it":    {index: alone, pkg: `{"name":"x"}`},
		"App":                        {index: in("'" + adk + "'"), want: adk},
		"App before package.json":    {index: in("'" + svc + "'"), pkg: `{"parley":{"credentialCall":"` + adk + `"}}`, want: svc},
		"App, another name":          {index: in("'login'"), problem: `"login" is neither`},
		"App, no text":               {index: in("1"), problem: "not a string"},
		"package.json, another name": {index: alone, pkg: `{"parley":{"credentialCall":"login"}}`, problem: `"login" is neither`},
		"package.json, no text":      {index: alone, pkg: `{"parley":{"credentialCall":1}}`, problem: "parley.credentialCall must not be a number"},
	} {
		files := map[string]string{"index.ts": tt.index}
		if tt.pkg != "" {
			files["package.json"] = tt.pkg
		}
		apps, _ := loadLogged(t, files)
		root, _, err := apps.Agent("app")
		switch {
		case tt.problem != "":
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || agentrt.CredentialCall(root) != tt.want:
			t.Errorf("%s: %v, %v", name, root, err)
		}
	}
}

// Files of one directory that export an agent are applications, which are named
// after them.
func TestLooseFiles(t *testing.T) {
	dir := write(t, map[string]string{
		"one.ts":    "import { shared } from './shared';\n" + source("return [shared, 1]"),
		"two.mts":   "import { shared } from './shared';\n" + source("return [shared, 2]"),
		"shared.ts": "export const shared = 'x';",
	})
	apps := loadApps(t, dir)
	if names := strings.Join(apps.Names(), " "); names != "one two" {
		t.Fatalf("the applications are %s", names)
	}
	if got := result(t, rootOf(t, apps, "two"), "fine"); got != `{"results":["x",2]}` {
		t.Error(got)
	}
	one := loadApps(t, filepath.Join(dir, "one.ts"))
	if got := result(t, rootOf(t, one, "one"), "fine"); got != `{"results":["x",1]}` || one.Dir() != dir {
		t.Error(got, one.Dir())
	}
}
