package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/parley-run/parley/internal/testkit"
)

// What parley deploy makes is unpacked as the builder of an image would do it,
// and started in there: it must answer on its port, and needs nothing else than
// what is in the image.
func TestDeployedImage(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the image is for amd64")
	}
	work := t.TempDir()
	binary := testkit.Build(t, "../../cmd/parley")
	// gcloud gets the source of the image, and keeps it.
	source := filepath.Join(work, "source")
	gcloud := "#!/bin/sh\n" + `while [ "$1" != --source ]; do shift; done; cp -R "$2" "$SOURCE"` + "\n"
	if err := os.WriteFile(filepath.Join(work, "gcloud"), []byte(gcloud), 0o755); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	deploy := exec.Command("parley", "deploy", "cloud_run", "--project=p", "--region=r", "--port="+port, "--app_name=it's $HOME", "--binary="+binary, "../../examples/weather")
	deploy.Env = append(os.Environ(), "SOURCE="+source, "PATH="+work+string(filepath.ListSeparator)+os.Getenv("PATH"))
	if out, err := deploy.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	root := filepath.Join(work, "root")
	im := unpack(t, source, root)
	if im.exposed != port {
		t.Errorf("port %s is exposed, want %s", im.exposed, port)
	}
	start(t, root, im, port)

	url := "http://127.0.0.1:" + port
	for _, step := range []struct{ method, path, body, want string }{
		{"GET", "/readyz", "", `"ok"`},
		{"GET", "/list-apps", "", `["it's $HOME"]`},
		{"POST", "/apps/it's%20$HOME/users/u/sessions/s", "", `"id":"s"`},
		{"POST", "/run", `{"appName":"it's $HOME","userId":"u","sessionId":"s","newMessage":{"parts":[{"text":"What is the weather in Paris?"}]}}`, "functionResponse"},
	} {
		req, _ := http.NewRequest(step.method, url+step.path, strings.NewReader(step.body))
		req.Header.Set("Content-Type", "application/json")
		req.Host = "sky-abc123.a.run.app" // as the platform has it
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || !strings.Contains(string(answer), step.want) {
			t.Errorf("%s %s: %d %s", step.method, step.path, resp.StatusCode, answer)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// start starts the server of an image, which is in root, and ends it with the test.
func start(t *testing.T, root string, im unpacked, port string) {
	t.Helper()
	cmd := &exec.Cmd{Path: im.command[0], Args: im.command, Dir: "/", Stderr: t.Output()}
	cmd.Env = append(im.environ, "PORT="+port, "PARLEY_OFFLINE=true") // no model is to be had here
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	} else { // the same directory, by another name
		cmd.Path, cmd.Dir = filepath.Join(root, cmd.Path), root
		for i, arg := range cmd.Args {
			if strings.HasPrefix(arg, "/") {
				cmd.Args[i] = filepath.Join(root, arg)
			}
		}
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	for lines := bufio.NewScanner(stdout); !strings.HasPrefix(lines.Text(), "http://"); {
		if !lines.Scan() {
			t.Fatal("the server says nothing")
		}
	}
}

// Platforms call the server of an image at their own paths.
func TestDeployedPlatforms(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for amd64")
	}
	binary := testkit.Build(t, "../../cmd/parley")
	const session = "0123456789-0123456789-0123456789-1"
	for _, tt := range []struct {
		name  string
		args  []string
		port  string
		steps []struct{ method, path, body, want string }
	}{
		{"agentcore", []string{"--region=us-east-1", "--role_arn=arn:aws:iam::123456789012:role/r"}, "8080", []struct{ method, path, body, want string }{
			{"GET", "/ping", "", `{"status":"Healthy","time_of_last_update":`},
			{"POST", "/invocations", `{"prompt":"What is the weather in Paris?"}`, `"status":"success","sessionId":"` + session + `"`},
			{"GET", "/apps/weather/users/ann/sessions/" + session, "", "functionResponse"},
			{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `"name":"weather"`},
			{"GET", "/.well-known/agent-card.json", "", `"url":"https://example.com/runtime/"`},
			{"POST", "/", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}`, "-32001"},
		}},
		{"foundry", []string{"--account=a", "--project=p", "--registry=r"}, "8088", []struct{ method, path, body, want string }{
			{"GET", "/readiness", "", `"ok"`},
			{"POST", "/responses", `{"input":"What is the weather in Paris?"}`, `"id":"caresp_1"`},
			{"GET", "/responses/caresp_1", "", `"status":"completed"`},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			work := t.TempDir()
			source := filepath.Join(work, "source")
			// Each program keeps the source of the image, and says what the next step needs.
			recorder := "#!/bin/sh\n" + `for arg; do if [ -f "$arg/Dockerfile" ]; then cp -R "$arg" "$SOURCE"; fi; done; case "$*" in *get-caller-identity*) echo 123456789012;; esac` + "\n"
			for name, text := range map[string]string{"aws": recorder, "docker": recorder, "az": recorder, "arm64": strings.Replace(leastProgram, "\x3e", "\xb7", 1)} {
				if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			program := binary
			if tt.name == "agentcore" {
				program = filepath.Join(work, "arm64")
			}
			deploy := exec.Command("parley", append(append([]string{"deploy", tt.name, "--binary=" + program}, tt.args...), "../../examples/weather")...)
			deploy.Env = append(os.Environ(), "SOURCE="+source, "PATH="+work+string(filepath.ListSeparator)+os.Getenv("PATH"))
			if out, err := deploy.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			root := filepath.Join(work, "root")
			im := unpack(t, source, root)
			if im.exposed != tt.port {
				t.Errorf("port %s is exposed, want %s", im.exposed, tt.port)
			}
			if out, err := exec.Command("cp", binary, filepath.Join(root, "parley")).CombinedOutput(); err != nil { // one that runs here
				t.Fatalf("%v: %s", err, out)
			}
			im.environ = append(im.environ, "AGENTCORE_RUNTIME_URL=https://example.com/runtime/")
			port := freePort(t)
			im.command[slices.Index(im.command, tt.port)] = port // another server may have it
			start(t, root, im, port)
			for _, step := range tt.steps {
				req, _ := http.NewRequest(step.method, "http://127.0.0.1:"+port+step.path, strings.NewReader(step.body))
				for name, value := range map[string]string{
					"Content-Type": "application/json", "Accept": "application/json", "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id": session,
					"X-Amzn-Bedrock-AgentCore-Runtime-User-Id": "ann", "x-agent-user-id": "ann", "x-agent-response-id": "caresp_1",
				} {
					req.Header.Set(name, value)
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				answer, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK || !strings.Contains(string(answer), step.want) {
					t.Errorf("%s %s: %d %s", step.method, step.path, resp.StatusCode, answer)
				}
			}
			http.DefaultClient.CloseIdleConnections()
		})
	}
}

// leastProgram is the least that passes for a static program for amd64.
const leastProgram = "\x7fELF\x02\x01\x01\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00" + "\x02\x00\x3e\x00\x01\x00\x00\x00" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x40\x00\x38\x00\x00\x00\x40\x00\x00\x00\x00\x00"

// The reader of the output of parley deploy may close the pipe. The temporary files,
// which can contain secrets, are removed all the same.
func TestDeployUnread(t *testing.T) {
	work := t.TempDir()
	tmp := filepath.Join(work, "tmp")
	for name, text := range map[string]string{"program": leastProgram, "docker": "#!/bin/sh\n", "tmp/.keep": ""} {
		full := filepath.Join(work, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	defer writer.Close()
	deploy := exec.Command("parley", "deploy", "docker", "--binary="+filepath.Join(work, "program"), "../../examples/weather")
	deploy.Env = append(os.Environ(), "TMPDIR="+tmp, "PATH="+work+string(filepath.ListSeparator)+os.Getenv("PATH"))
	deploy.Stdout, deploy.Stderr = writer, t.Output()
	_ = deploy.Run() // it may do what it was told to, or not
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// The image of the repository starts a server, once it is said who may call.
func TestRepositoryImage(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\nCMD ")
	var args []string
	if err := json.Unmarshal([]byte(list), &args); err != nil {
		t.Fatal(err)
	}
	for i, arg := range args {
		switch arg {
		case "/agents":
			args[i] = "../../examples/weather"
		case "8080":
			args[i] = "0"
		}
	}
	if out, err := exec.Command("parley", args...).CombinedOutput(); err == nil || !strings.Contains(string(out), "--access") {
		t.Errorf("without access: %v, %s", err, out)
	}
	cmd := exec.Command("parley", args...)
	cmd.Env = append(os.Environ(), "PARLEY_ACCESS=platform", "PARLEY_OFFLINE=true")
	cmd.Stderr = t.Output()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stdout); !strings.HasPrefix(lines.Text(), "http://"); {
		if !lines.Scan() {
			t.Error("the server says nothing")
			break
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_, _ = io.Copy(io.Discard, stdout)
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

// unpacked is what an image is started with.
type unpacked struct {
	command, environ []string
	exposed          string
}

// unpack follows a Dockerfile. The base image has nothing that counts here, but
// for a directory for temporary files.
func unpack(t *testing.T, source, root string) (im unpacked) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(root, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(source, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	var entrypoint, command []string
	for line := range strings.Lines(string(text)) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch instruction {
		case "", "#", "FROM":
		case "COPY":
			from, to, _ := strings.Cut(rest, " ")
			if out, err := exec.Command("cp", "-R", filepath.Join(source, from), filepath.Join(root, to)).CombinedOutput(); err != nil {
				t.Fatalf("%s: %s", line, out)
			}
		case "ENV":
			name, value, _ := strings.Cut(rest, "=")
			im.environ = append(im.environ, name+"="+strings.Trim(value, `"`))
		case "EXPOSE":
			im.exposed = rest
		case "ENTRYPOINT":
			err = json.Unmarshal([]byte(rest), &entrypoint)
		case "CMD":
			err = json.Unmarshal([]byte(rest), &command)
		default:
			t.Fatalf("what is %s?", line)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	im.command = append(entrypoint, command...)
	return im
}
