package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorder stands in for gcloud, kubectl, docker, aws and az: it writes down how it was
// called, keeps a copy of the directories that it was given, and fails or waits
// if it is told to.
const recorder = `#!/bin/sh
name=$(basename "$0")
line="$name"
for arg; do
	line="$line [$arg]"
	if [ -f "$arg/Dockerfile" ]; then cp -R "$arg" "$RECORD/source"; fi
	if [ -f "$arg/parley.yaml" ]; then cp -R "$arg" "$RECORD/manifests"; fi
done
echo "$line" >> "$RECORD/calls"
echo "${KUBECONFIG:-none}" >> "$RECORD/kubeconfigs"
case "$*" in
*"projects describe"*) echo 4711 ;;
*"docker ps"* | "ps --all"*) printf "$CONTAINERS" ;;
*get-caller-identity*) echo 123456789012 ;;
*get-login-password*) echo hush ;;
login*) cat > "$RECORD/password" ;;
*list-agent-runtimes*) echo "$RUNTIMES" ;;
*-agent-runtime*) echo arn:of-the-runtime ;;
"rest "*) cp "$TMPDIR"/parley_deploy_*/agent.json "$RECORD" ;;
esac
if [ -n "$FAIL" ]; then case "$*" in *"$FAIL"*) echo "$name is out of order" >&2; exit 7 ;; esac; fi
if [ -n "$WAIT" ]; then echo waiting; exec sleep 600; fi
`

// bench is a machine to deploy from: an agent, a program, and recorders.
type bench struct {
	t       *testing.T
	dir     string // the working directory, with the agent "weather"
	record  string
	answers string // what a person types; "-" without a terminal
	environ []string
	// requests are those to the server in the container.
	requests []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the recorders are shell scripts")
	}
	b := &bench{t: t, dir: t.TempDir(), record: t.TempDir()}
	bin := t.TempDir()
	for _, name := range []string{"gcloud", "kubectl", "docker", "aws", "az"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(recorder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("TMPDIR", t.TempDir())
	b.file("weather/index.ts", "export const rootAgent = 1;\n")
	b.file("weather/lib/tools.ts", "export {};\n")
	b.file("weather/.env", "GOOGLE_API_KEY=secret\n")
	b.file("weather/.git/config", "[core]\n")
	b.file("weather/sessions.db", "data")
	b.file("parley-linux", program)
	return b
}

// program is the least that passes for a static Linux program for amd64.
var program = "\x7fELF\x02\x01\x01\x00" + strings.Repeat("\x00", 8) + "\x02\x00\x3e\x00\x01\x00\x00\x00" +
	strings.Repeat("\x00", 28) + "\x40\x00\x38\x00\x00\x00\x40\x00\x00\x00\x00\x00"

func (b *bench) file(name, text string) {
	b.t.Helper()
	full := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) env(stdout, stderr io.Writer, args ...string) *Env {
	return &Env{
		Args: append([]string{"deploy"}, args...), Environ: append(append(os.Environ(), "RECORD="+b.record), b.environ...), Dir: b.dir,
		Stdin: strings.NewReader(b.answers), StdinTerminal: b.answers != "-", Stdout: stdout, Stderr: stderr,
		Executable: filepath.Join(b.dir, "parley-linux"), transport: b,
	}
}

// RoundTrip answers for the server in the container that docker would have started.
func (b *bench) RoundTrip(r *http.Request) (*http.Response, error) {
	b.requests = append(b.requests, r.URL.String())
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

func (b *bench) deploy(args ...string) (code int, stdout, stderr string) {
	b.t.Helper()
	var out, errs bytes.Buffer
	code = Main(b.t.Context(), b.env(&out, &errs, args...))
	if left := b.tree(os.TempDir()); len(left) > 0 {
		b.t.Errorf("temporary files are left: %q", left)
	}
	return code, out.String(), errs.String()
}

// calls are those that were recorded, with TMP for the temporary directory.
func (b *bench) calls() string {
	text, err := os.ReadFile(filepath.Join(b.record, "calls"))
	if err != nil && !os.IsNotExist(err) {
		b.t.Fatal(err)
	}
	return b.masked(string(text))
}

// masked replaces what differs from run to run.
func (b *bench) masked(text string) string {
	words := strings.Split(text, filepath.Join(os.TempDir(), "parley_deploy_"))
	for i, word := range words[1:] {
		words[i+1] = "TMP" + strings.TrimLeft(word, "0123456789_")
	}
	return strings.Join(words, "")
}

// tree lists the files below a directory.
func (b *bench) tree(dir string) (files []string) {
	b.t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return files
}

func (b *bench) recorded(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.record, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

var cloudRun = []string{"cloud_run", "--project", "p1", "--region", "r1"}

func TestDeployCloudRun(t *testing.T) {
	const call = "gcloud [run] [deploy] [parley-default-service-name] [--source] [TMP] [--project] [p1] [--region] [r1] " +
		"[--port] [8000] [--verbosity] [warning] [--labels] [created-by=parley] "
	for _, test := range []struct {
		name, answers, allow, access string
	}{
		{"default", "\n", "[--no-allow-unauthenticated]", "platform"},
		{"end of input", "", "[--no-allow-unauthenticated]", "platform"},
		{"no terminal", "-", "[--no-allow-unauthenticated]", "platform"},
		{"no", "N\n", "[--no-allow-unauthenticated]", "platform"},
		{"something else", "yesterday\n", "[--no-allow-unauthenticated]", "platform"},
		{"yes", "y\n", "[--allow-unauthenticated]", "public"},
		{"yes without a line break", "Yes", "[--allow-unauthenticated]", "public"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.answers = test.answers
			code, stdout, stderr := b.deploy(append(cloudRun, "weather")...)
			if code != ExitOK {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			if !strings.HasPrefix(stdout, "Allow unauthenticated invocations to [parley-default-service-name] (y/N)? ") {
				t.Errorf("nothing was asked: %s", stdout)
			}
			same(t, "calls", call+test.allow+"\n", b.calls())
			same(t, "source", []string{"Dockerfile", "agents/weather/index.ts", "agents/weather/lib/tools.ts", "parley"}, b.tree(filepath.Join(b.record, "source")))
			same(t, "program", program, b.recorded("source/parley"))
			proxied := "" // who calls a public service, Google's front end says
			if test.access == "public" {
				proxied = "ENV PARLEY_PROXIED=\"true\"\n"
			}
			same(t, "Dockerfile", `# Made by parley deploy.
FROM gcr.io/distroless/static-debian12:nonroot
COPY parley /parley
COPY agents/ /agents/
ENV PARLEY_LOG_FORMAT="json"
ENV GOOGLE_CLOUD_PROJECT="p1"
ENV GOOGLE_CLOUD_LOCATION="r1"
ENV GOOGLE_GENAI_USE_VERTEXAI="true"
`+proxied+`EXPOSE 8000
ENTRYPOINT ["/parley"]
CMD ["api_server", "--agent_dir", "/agents/weather", "--host", "0.0.0.0", "--port", "8000", "--access", "`+test.access+`"]
`, b.recorded("source/Dockerfile"))
			for _, said := range []string{".env (variables)", ".git (version control)", "sessions.db (a database)", "Deploying", "Removing the temporary files"} {
				if !strings.Contains(stdout, said) {
					t.Errorf("%q is not said: %s", said, stdout)
				}
			}
		})
	}
}

func TestDeployCloudRunOptions(t *testing.T) {
	b := newBench(t)
	code, _, stderr := b.deploy(append(cloudRun, "--service_name", "my-service", "--app_name", "sky", "--port", "9000", "--temp-folder", "scratch",
		"--verbosity", "debug", "weather", "--", "--allow-unauthenticated", "--memory", "1Gi", "--labels=team=a", "--set-secrets=K=K:latest")...)
	if code != ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	scratch := filepath.Join(b.dir, "scratch")
	same(t, "calls", "gcloud [run] [deploy] [my-service] [--source] ["+scratch+"] [--project] [p1] [--region] [r1] [--port] [9000] [--verbosity] [debug] "+
		"[--labels] [created-by=parley,team=a] [--allow-unauthenticated] [--memory] [1Gi] [--set-secrets=K=K:latest]\n", b.calls())
	if dockerfile := b.recorded("source/Dockerfile"); !strings.Contains(dockerfile, `"/agents/sky"`) || !strings.Contains(dockerfile, `"--port", "9000"`) {
		t.Error(dockerfile)
	}
	if _, err := os.Stat(scratch); !os.IsNotExist(err) {
		t.Errorf("the temporary folder is left: %v", err)
	}

	// A folder that was there stays, empty.
	if err := os.Mkdir(scratch, 0o700); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := b.deploy(append(cloudRun, "--temp_folder", scratch, "weather")...); code != ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("the temporary folder has %v, %v", left, err)
	}
}

// A service without Cloud Run's own check is a public one, and so the server is
// told.
func TestDeployCloudRunUnchecked(t *testing.T) {
	for _, arg := range []string{"--no-invoker-iam-check", "--public"} {
		b := newBench(t)
		code, stdout, stderr := b.deploy(append(slices.Clone(cloudRun), "weather", "--", arg)...)
		if code != ExitOK || strings.Contains(stdout, "(y/N)") {
			t.Fatalf("exit code %d: %s", code, stdout+stderr)
		}
		if calls := b.calls(); !strings.HasSuffix(calls, " [--no-allow-unauthenticated] ["+arg+"]\n") {
			t.Error(calls)
		}
		if dockerfile := b.recorded("source/Dockerfile"); !strings.Contains(dockerfile, `"--access", "public"`) {
			t.Error(dockerfile)
		}
	}
}

// A server that checks callers itself does so whatever the platform allows, and the
// command tells its user what the server needs.
func TestDeployAccess(t *testing.T) {
	for _, args := range [][]string{cloudRun, {"gke", "--project", "p1", "--region", "r1", "--cluster_name", "c1"}, {"docker"}} {
		for access, needs := range map[string]string{"oidc": "PARLEY_OIDC_ISSUER", "keys": "PARLEY_KEYS_DB_URL"} {
			for _, answer := range []string{"y\n", "n\n"} {
				b := newBench(t)
				b.answers = answer
				code, stdout, stderr := b.deploy(append(slices.Clone(args), "--access", access, "weather")...)
				if code != ExitOK || !strings.Contains(stdout, needs) {
					t.Fatalf("exit code %d: %s", code, stdout+stderr)
				}
				if dockerfile := b.recorded("source/Dockerfile"); !strings.Contains(dockerfile, `"--access", "`+access+`"`) {
					t.Errorf("%s: %s", args[0], dockerfile)
				}
			}
		}
	}
}

// Without its main file there is no agent to deploy, and nothing is asked.
func TestDeployMainFileElsewhere(t *testing.T) {
	b := newBench(t)
	b.file("shared/index.ts", "")
	main := filepath.Join(b.dir, "weather", "index.ts")
	if err := errors.Join(os.Remove(main), os.Symlink("../shared/index.ts", main)); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := b.deploy(append(slices.Clone(cloudRun), "weather")...)
	if code != ExitUsage || !strings.Contains(stderr, "the main agent file index.ts would be left out") || stdout != "" || b.calls() != "" {
		t.Errorf("exit code %d: %s", code, stdout+stderr)
	}
}

// An engine keeps sessions: its full name goes into the image, as it holds no
// secret, and the user is told what the service needs.
func TestDeployAgentEngine(t *testing.T) {
	for given, name := range map[string]string{
		"77": "projects/p1/locations/r1/reasoningEngines/77",
		"projects/p2/locations/r2/reasoningEngines/88": "projects/p2/locations/r2/reasoningEngines/88",
	} {
		for _, args := range [][]string{cloudRun, {"gke", "--project", "p1", "--region", "r1", "--cluster_name", "c1"}} {
			b := newBench(t)
			code, stdout, stderr := b.deploy(append(slices.Clone(args), "--agent_engine_id", given, "weather")...)
			if code != ExitOK {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			if dockerfile := b.recorded("source/Dockerfile"); !strings.Contains(dockerfile, `"--session_db_url", "agentengine://`+name+`"]`) {
				t.Error(dockerfile)
			}
			if !strings.Contains(stdout, "Sessions are stored in the engine "+given) {
				t.Errorf("the output does not say where sessions are stored: %s", stdout)
			}
		}
	}
}

func TestDeployRefuses(t *testing.T) {
	cluster := []string{"gke", "--project", "p1", "--region", "r1", "--cluster_name", "c1"}
	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"no project, no region", []string{"cloud_run", "weather"}, "--project and --region must be given"},
		{"no project", []string{"cloud_run", "--region", "r", "weather"}, "--project must be given"},
		{"no region", []string{"cloud_run", "--project", "p", "weather"}, "--region must be given"},
		{"no agent path", cloudRun, "AGENT_PATH"},
		{"two agent paths", append(cloudRun, "weather", "weather"), "only one AGENT_PATH"},
		{"no directory", append(cloudRun, "storm"), "storm does not exist"},
		{"no main agent file", append(cloudRun, "weather/lib"), "the main agent file is missing"},
		{"a project that is a flag", []string{"cloud_run", "--project=--quiet", "--region", "r1", "weather"}, "--project"},
		{"a region with more", []string{"cloud_run", "--project=p", "--region", "r1\nRUN rm", "weather"}, "--region"},
		{"a service name", append(cloudRun, "--service_name", "My Service", "weather"), "--service_name"},
		{"an app name with a path", append(cloudRun, "--app_name", "../../x", "weather"), "cannot be the name of an application"},
		{"an app name with a line break", append(cloudRun, "--app_name", "x\nRUN y", "weather"), "cannot be the name of an application"},
		{"an engine that is none", append(cloudRun, "--agent_engine_id", "my engine", "weather"), "--agent_engine_id: it must be the number of an engine"},
		{"an engine with more", append(cloudRun, "--agent_engine_id", "projects/p/locations/l/reasoningEngines/1\",\"x", "weather"), "--agent_engine_id"},
		{"an engine and a database", append(cloudRun, "--agent_engine_id", "77", "weather", "--", "--set-secrets", "PARLEY_SESSION_DB_URL=db:latest"), "both set where"},
		{"an engine and a database in a cluster", append(cluster, "--agent_engine_id", "77", "--session_db_url", "postgres://db/x", "weather"), "both set where"},
		{"replicas on an engine", append(cluster, "--agent_engine_id", "77", "--replicas", "3", "weather"), "use 1 replica"},
		{"a port", append(cloudRun, "--port", "0", "weather"), "--port"},
		{"a folder in use", append(cloudRun, "--temp_folder", ".", "weather"), "is not empty"},
		{"a folder in the agent", append(cloudRun, "--temp_folder", "weather/tmp", "weather"), "is in the agent directory"},
		{"a program that is none", append(cloudRun, "--binary", "weather/index.ts", "weather"), "is not a Linux program"},
		{"an argument of ours", append(cloudRun, "weather", "--", "--port", "80"), "the argument --port is set by parley"},
		{"an argument of ours with a value", append(cloudRun, "weather", "--", "--source=."), "the argument --source is set by parley"},
		{"a contradiction", append(cloudRun, "weather", "--", "--allow-unauthenticated", "--no-allow-unauthenticated"), "either"},
		{"a contradiction with the check", append(cloudRun, "weather", "--", "--no-allow-unauthenticated", "--no-invoker-iam-check"), "either"},
		{"arguments in a file", append(cloudRun, "weather", "--", "--flags-file=x.yaml"), "--flags-file"},
		{"a variable that does not count", append(cloudRun, "weather", "--", "--set-env-vars", "A=b,PARLEY_ACCESS=keys"), "use --access oidc or --access keys"},
		{"a variable that does not count in Docker", []string{"docker", "weather", "--", "--env=PARLEY_PORT=80"}, "use --port"},
		{"a port for everyone", []string{"docker", "weather", "--", "--publish", "9000:8000"}, "--publish after -- lets other machines reach the server"},
		{"a port at an address", []string{"docker", "weather", "--", "--publish=10.0.0.1:9000:8000"}, "lets other machines"},
		{"a port in short", []string{"docker", "weather", "--", "-p9000:8000"}, "lets other machines"},
		{"all ports", []string{"docker", "weather", "--", "-P"}, "lets other machines"},
		{"the network of the host", []string{"docker", "weather", "--", "--net=host"}, "lets other machines"},
		{"an access that is not checked", append(cloudRun, "--access", "platform", "weather"), "must be one of oidc, keys"},
		{"no cluster", []string{"gke", "--project", "p1", "--region", "r1", "weather"}, "--cluster_name must be given"},
		{"no project, no region, no cluster", []string{"gke", "weather"}, "--project and --region and --cluster_name must be given"},
		{"replicas in memory", append(cluster, "--replicas", "3", "weather"), "share a database"},
		{"sessions in a file", append(cluster, "--session_db_url", "sqlite:///x.db", "weather"), "postgres://"},
		{"a namespace", append(cluster, "--namespace", "a/b", "weather"), "--namespace"},
		{"stray arguments", append(cluster, "weather", "--", "--x"), "only one AGENT_PATH"},
		{"nowhere", nil, "the target of the deployment is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			code, _, stderr := b.deploy(slices.Clone(test.args)...)
			if code != ExitUsage || !strings.Contains(stderr, test.want) {
				t.Errorf("exit code %d, %q; want %d and %q", code, stderr, ExitUsage, test.want)
			}
			if got := b.calls(); got != "" {
				t.Errorf("called %s", got)
			}
		})
	}
}

// Whatever fails, the exit code says so and nothing is left behind.
func TestDeployFails(t *testing.T) {
	for _, args := range [][]string{
		append(slices.Clone(cloudRun), "weather"),
		{"gke", "--project", "p1", "--region", "r1", "--cluster_name", "c1", "weather"},
		{"docker", "weather"},
	} {
		for _, fail := range []string{"run", "build", "projects describe", "get-credentials", "apply", "rollout"} {
			b := newBench(t)
			b.environ = []string{"FAIL=" + fail}
			code, _, stderr := b.deploy(args...)
			if failed := strings.Contains(stderr, "is out of order"); failed != (code == ExitFailure) || failed != strings.Contains(stderr, "failed with exit code 7") {
				t.Errorf("%s, %s: exit code %d, %s", args[0], fail, code, stderr)
			}
		}
	}
	t.Run("no gcloud", func(t *testing.T) {
		b := newBench(t)
		t.Setenv("PATH", b.dir)
		if code, _, stderr := b.deploy(append(slices.Clone(cloudRun), "weather")...); code != ExitFailure || !strings.Contains(stderr, "gcloud is needed and is not in the PATH") {
			t.Errorf("exit code %d, %s", code, stderr)
		}
	})
}

func TestDeployInterrupted(t *testing.T) {
	for _, end := range []syscall.Signal{0, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		b := newBench(t)
		b.environ = []string{"WAIT=1"}
		ctx, cancel := context.WithCancel(t.Context())
		stdout := &watcher{word: "waiting\n", seen: cancel}
		if end != 0 {
			me, err := os.FindProcess(os.Getpid())
			if err != nil {
				t.Fatal(err)
			}
			stdout.seen = sync.OnceFunc(func() { _ = me.Signal(end) })
		}
		var stderr bytes.Buffer
		code := Main(ctx, b.env(stdout, &stderr, append(slices.Clone(cloudRun), "weather")...))
		cancel()
		if code != ExitFailure || !strings.Contains(stderr.String(), "interrupted") {
			t.Errorf("%v: exit code %d, %s", end, code, &stderr)
		}
		if left := b.tree(os.TempDir()); len(left) > 0 {
			t.Errorf("%v: temporary files are left: %q", end, left)
		}
	}
}

// watcher calls seen when a word was written.
type watcher struct {
	word string
	seen func()
	text strings.Builder
}

func (w *watcher) Write(p []byte) (int, error) {
	w.text.Write(p)
	if strings.Contains(w.text.String(), w.word) {
		w.seen()
	}
	return len(p), nil
}

// A dry run shows everything and does nothing.
func TestDeployDryRun(t *testing.T) {
	for _, test := range []struct {
		args []string
		want []string
	}{
		{append(slices.Clone(cloudRun), "--dry_run", "weather", "--", "--max-instances=1 x", "--set-env-vars=A=hush", "--update-env-vars", "B=hush"), []string{
			"agents/weather/index.ts", "left out: .env", "FROM gcr.io/distroless", "$ gcloud run deploy parley-default-service-name --source ",
			"--no-allow-unauthenticated '--max-instances=1 x' '--set-env-vars=…' --update-env-vars '…'\n",
		}},
		{[]string{"gke", "--project=p1", "--region=r1", "--cluster_name=c1", "--session_db_url=postgres://u:hush@h/d", "--dry_run", "weather"}, []string{
			"kind: Deployment", "kind: Secret", "(not shown)", "$ gcloud builds submit", "kubectl apply --filename", "projects/PROJECT_NUMBER/",
		}},
		{[]string{"docker", "--dry_run", "weather", "--", "-e", "A=hush", "-eB=hush", "--env=C=hush", "--env", "D=hush", "--memory", "1g"}, []string{
			"$ docker build", "$ docker run --detach", " -e '…' '…' '--env=…' --env '…' --memory 1g ",
		}},
	} {
		b := newBench(t)
		t.Setenv("PATH", b.dir) // not even the programs are needed
		code, stdout, stderr := b.deploy(test.args...)
		if code != ExitOK {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		for _, want := range test.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%q is not shown: %s", want, stdout)
			}
		}
		if got := b.calls(); got != "" || strings.Contains(stdout, "hush") {
			t.Errorf("called %s, said %s", got, stdout)
		}
	}
}

func TestDeployGKE(t *testing.T) {
	b := newBench(t)
	b.environ = []string{"FAIL=repositories describe"}
	b.answers = "y\n"
	code, stdout, stderr := b.deploy("gke", "--project", "p1", "--region", "r1", "--cluster_name", "c1", "--cluster_location", "r1-a",
		"--replicas", "3", "--session_db_url", "postgres://u:hush@db/parley", "--service_name", "sky", "weather")
	if code != ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	lines := strings.Split(b.calls(), "\n")
	for i, line := range lines { // the tag is the time
		if before, after, ok := strings.Cut(line, "/sky:"); ok {
			lines[i] = before + "/sky:TAG" + after[len("20060102-150405"):]
		}
	}
	same(t, "calls", []string{
		"gcloud [artifacts] [repositories] [describe] [parley] [--location] [r1] [--project] [p1] [--verbosity] [warning]",
		"gcloud [artifacts] [repositories] [create] [parley] [--location] [r1] [--project] [p1] [--verbosity] [warning] [--repository-format] [docker]",
		"gcloud [builds] [submit] [TMP/image] [--tag] [r1-docker.pkg.dev/p1/parley/sky:TAG] [--project] [p1] [--verbosity] [warning]",
		"gcloud [projects] [describe] [p1] [--format] [value(projectNumber)] [--verbosity] [warning]",
		"gcloud [projects] [add-iam-policy-binding] [p1] [--member] [principal://iam.googleapis.com/projects/4711/locations/global/workloadIdentityPools/p1.svc.id.goog/subject/ns/default/sa/sky] [--role] [roles/aiplatform.user] [--condition] [None] [--format] [none] [--verbosity] [warning]",
		"gcloud [container] [clusters] [get-credentials] [c1] [--location] [r1-a] [--project] [p1]",
		"kubectl [apply] [--filename] [TMP/manifests]",
		"kubectl [rollout] [status] [deployment/sky] [--namespace] [default] [--timeout] [5m]",
		"",
	}, lines)
	// The user's own configuration of kubectl is not touched.
	kubeconfigs := strings.Fields(b.masked(b.recorded("kubeconfigs")))
	same(t, "KUBECONFIG", []string{"TMP/kubeconfig", "TMP/kubeconfig", "TMP/kubeconfig"}, kubeconfigs[5:])
	same(t, "manifests", []string{"parley.yaml", "secret.yaml"}, b.tree(filepath.Join(b.record, "manifests")))
	same(t, "source", []string{"Dockerfile", "agents/weather/index.ts", "agents/weather/lib/tools.ts", "parley"}, b.tree(filepath.Join(b.record, "source")))
	if !strings.Contains(b.recorded("source/Dockerfile"), `"--port", "8080", "--access", "public"`) {
		t.Error(b.recorded("source/Dockerfile"))
	}
	if strings.Contains(stdout+stderr, "hush") {
		t.Errorf("the password is shown: %s", stdout+stderr)
	}
}

func TestDeployDocker(t *testing.T) {
	b := newBench(t)
	b.environ = []string{`CONTAINERS=abc\n`}
	code, stdout, stderr := b.deploy("docker", "weather", "--", "--env-file", "weather/.env", "-p", "127.0.0.1:9000:8000", "--network=db")
	if code != ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	same(t, "calls", strings.Join([]string{
		"docker [ps] [--all] [--filter] [name=^/parley-default-service-name$] [--filter] [label=created-by=parley] [--format] [{{.ID}} {{.Label \"run.parley.app\"}}]",
		"docker [build] [--platform] [linux/amd64] [--label] [created-by=parley] [--label] [run.parley.app=weather] [--tag] [parley-default-service-name] [TMP]",
		"docker [rm] [--force] [abc]",
		"docker [run] [--detach] [--platform] [linux/amd64] [--name] [parley-default-service-name] [--restart] [unless-stopped] [--publish] [127.0.0.1:8000:8000] [--env-file] [weather/.env] [-p] [127.0.0.1:9000:8000] [--network=db] [parley-default-service-name]",
		"",
	}, "\n"), b.calls())
	same(t, "requests", []string{"http://127.0.0.1:8000/readyz"}, b.requests)
	if !strings.Contains(stdout, "The server is at http://127.0.0.1:8000, for programs on this machine.\n") {
		t.Errorf("it says %s", stdout)
	}
	// The names of other sites that lead to this machine do not lead to the server.
	if dockerfile := b.recorded("source/Dockerfile"); !strings.Contains(dockerfile, "\nENV PARLEY_ALLOW_HOSTS=\"localhost,127.0.0.1\"\n") || !strings.Contains(dockerfile, `"--access", "platform"]`) {
		t.Error(dockerfile)
	}
}

// A file with variables stays out of the image: the output says how the server gets them,
// unless it gets some.
func TestDeployHintsAtVariables(t *testing.T) {
	foundry := []string{"foundry", "--account", "A", "--project", "p", "--registry", "R"}
	for _, test := range []struct {
		args, given []string
		hint        string
	}{
		{[]string{"docker", "weather"}, []string{"--", "--env-file", "weather/.env"}, "-- --env-file <file>"},
		{[]string{"docker", "weather"}, []string{"--", "--env=A=b"}, "-- --env-file <file>"},
		{append(slices.Clone(cloudRun), "weather"), []string{"--", "--set-secrets=A=b:latest"}, "-- --set-env-vars <name>=<value>, and secrets with -- --set-secrets"},
		{append(slices.Clone(agentCore), "--binary", "parley-arm64", "weather"), []string{"--", "--environment-variables", "A=b"}, "-- --environment-variables <name>=<value>"},
		{append(foundry, "weather"), []string{"--env", "A=b"}, "with --env <name>=<value>"},
		{[]string{"gke", "--project", "p1", "--region", "r1", "--cluster_name", "c1", "weather"}, nil, "from the Secret parley-default-service-name-env, see below"},
	} {
		for _, given := range [][]string{nil, test.given} {
			b := newBench(t)
			b.file("parley-arm64", programARM)
			code, stdout, stderr := b.deploy(slices.Concat(test.args, []string{"--dry_run"}, given)...)
			if code != ExitOK {
				t.Fatalf("%q: exit code %d: %s", test.args, code, stderr)
			}
			if want := given == nil || test.given == nil; strings.Contains(stdout, test.hint) != want {
				t.Errorf("%q %q: it says %s", test.args, given, stdout)
			}
		}
	}
	b := newBench(t)
	if err := os.Remove(filepath.Join(b.dir, "weather", ".env")); err != nil {
		t.Fatal(err)
	}
	if _, stdout, _ := b.deploy("docker", "--dry_run", "weather"); strings.Contains(stdout, "--env-file") {
		t.Errorf("without such a file: %s", stdout)
	}
}

// The default name is for one agent: another one does not replace it.
func TestDeployDockerKeepsOtherAgents(t *testing.T) {
	for _, test := range []struct {
		before  string
		args    []string
		refused bool
	}{
		{"abc weather", nil, false},
		{"abc sky", nil, true},
		{"abc sky", []string{"--app_name", "sky"}, false},
		{"abc sky", []string{"--service_name", "mine"}, false},
	} {
		b := newBench(t)
		b.environ = []string{"CONTAINERS=" + test.before + `\n`}
		code, _, stderr := b.deploy(append([]string{"docker", "weather"}, test.args...)...)
		if removed := strings.Contains(b.calls(), "[rm] [--force] [abc]"); removed == test.refused || (code == ExitUsage) != test.refused {
			t.Errorf("%+v: exit code %d: %s", test, code, stderr)
		}
		if test.refused && !strings.Contains(stderr, "runs the agent sky: choose another name for this one with --service_name") {
			t.Errorf("it says %q", stderr)
		}
	}
}
