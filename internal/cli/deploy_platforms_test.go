package cli

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// programARM is the least that passes for a static Linux program for arm64.
var programARM = strings.Replace(program, "\x3e", "\xb7", 1)

// timed matches the tag of an image.
var timed = regexp.MustCompile(`:[0-9]{8}-[0-9]{6}`)

var agentCore = []string{"agentcore", "--region", "us-east-1", "--role_arn", "arn:aws:iam::123456789012:role/agents/my-agent"}

func TestDeployAgentCore(t *testing.T) {
	const (
		registry = "123456789012.dkr.ecr.us-east-1.amazonaws.com"
		artifact = "[--agent-runtime-artifact] [containerConfiguration={containerUri=" + registry + "/REPO:TIME}] [--role-arn] [arn:aws:iam::123456789012:role/agents/my-agent] [--protocol-configuration] "
		ending   = "[--region] [us-east-1] [--query] [agentRuntimeArn] [--output] [text]"
	)
	for _, test := range []struct {
		name            string
		args, after     []string
		runtimes, fails string
		port, repo      string
		runtime         string
		creates         string
		missing         bool
	}{
		{
			name: "new", runtime: "parley_default_service_name", port: "8080", repo: "parley-default-service-name",
			creates: "aws [bedrock-agentcore-control] [create-agent-runtime] [--agent-runtime-name] [parley_default_service_name] " + artifact + "[serverProtocol=HTTP] [--network-configuration] [networkMode=PUBLIC] " + ending,
		},
		{
			name: "again", runtime: "sky_high", runtimes: "sky-abc123", args: []string{"--service_name", "sky-high", "--repository", "team/agents", "--protocol", "mcp"}, port: "8000", repo: "team/agents",
			after:   []string{"--", "--network-configuration", "networkMode=VPC", "--environment-variables", "A=quiet", "B=quiet", "--environment-variables=C=quiet"},
			creates: "aws [bedrock-agentcore-control] [update-agent-runtime] [--agent-runtime-id] [sky-abc123] " + artifact + "[serverProtocol=MCP] " + ending + " [--network-configuration] [networkMode=VPC] [--environment-variables] [A=quiet] [B=quiet] [--environment-variables=C=quiet]",
		},
		{
			name: "first in its repository", runtime: "parley_default_service_name", fails: "describe-repositories", runtimes: "None", args: []string{"--protocol=a2a"}, port: "9000", repo: "parley-default-service-name", missing: true,
			creates: "aws [bedrock-agentcore-control] [create-agent-runtime] [--agent-runtime-name] [parley_default_service_name] " + artifact + "[serverProtocol=A2A] [--network-configuration] [networkMode=PUBLIC] " + ending,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.file("parley-arm64", programARM)
			b.environ = []string{"RUNTIMES=" + test.runtimes, "FAIL=" + test.fails}
			code, stdout, stderr := b.deploy(slices.Concat(agentCore, test.args, []string{"--binary", "parley-arm64", "weather"}, test.after)...)
			if code != ExitOK {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			if strings.Contains(stdout+stderr, "hush") || b.recorded("password") != "hush" {
				t.Errorf("the password is shown, or not used: %s", stdout+stderr)
			}
			if strings.Contains(stdout+stderr, "quiet") {
				t.Errorf("the value of a variable is shown: %s", stdout+stderr)
			}
			calls := []string{
				"aws [sts] [get-caller-identity] [--query] [Account] [--output] [text] [--region] [us-east-1]",
				"aws [ecr] [describe-repositories] [--repository-names] [REPO] [--region] [us-east-1]",
				"aws [ecr] [create-repository] [--repository-name] [REPO] [--tags] [Key=created-by,Value=parley] [--region] [us-east-1]",
				"aws [ecr] [get-login-password] [--region] [us-east-1]",
				"docker [login] [--username] [AWS] [--password-stdin] [" + registry + "]",
				"docker [buildx] [build] [--platform] [linux/arm64] [--provenance=false] [--label] [created-by=parley] [--tag] [" + registry + "/REPO:TIME] [--push] [TMP/image]",
				"aws [bedrock-agentcore-control] [list-agent-runtimes] [--query] [agentRuntimes[?agentRuntimeName=='" + test.runtime + "'].agentRuntimeId] [--output] [text] [--region] [us-east-1]",
				test.creates,
				"",
			}
			if !test.missing {
				calls = slices.Delete(calls, 2, 3)
			}
			same(t, "calls", strings.ReplaceAll(strings.Join(calls, "\n"), "REPO", test.repo), timed.ReplaceAllString(b.calls(), ":TIME"))
			same(t, "source", []string{"Dockerfile", "agents/weather/index.ts", "agents/weather/lib/tools.ts", "parley"}, b.tree(filepath.Join(b.record, "source")))
			same(t, "program", programARM, b.recorded("source/parley"))
			want := `"--port", "` + test.port + `", "--access", "platform", "--platforms", "agentcore"]`
			if text := b.recorded("source/Dockerfile"); !strings.Contains(text, want) || !strings.Contains(text, "EXPOSE "+test.port+"\n") {
				t.Error(text)
			}
			if !strings.Contains(stdout, "arn:of-the-runtime") {
				t.Errorf("the runtime is not named: %s", stdout)
			}
		})
	}
}

func TestDeployFoundry(t *testing.T) {
	b := newBench(t)
	code, stdout, stderr := b.deploy("foundry", "--account", "My-Foundry", "--project", "p1", "--registry", "Reg1", "--service_name", "sky",
		"--cpu", "0.5", "--memory", "1Gi", "--env", "GOOGLE_API_KEY=quiet=secret", "--env", "B=", "weather")
	if code != ExitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	same(t, "calls", strings.Join([]string{
		"az [acr] [build] [--registry] [Reg1] [--image] [sky:TIME] [--platform] [linux/amd64] [TMP/image]",
		"az [rest] [--method] [post] [--url] [https://my-foundry.services.ai.azure.com/api/projects/p1/agents/sky/versions?api-version=v1] [--resource] [https://ai.azure.com] " +
			"[--headers] [Content-Type=application/json] [--body] [@TMP/agent.json] [--query] [{name: name, version: version, status: status}]",
		"",
	}, "\n"), timed.ReplaceAllString(b.calls(), ":TIME"))
	var agent map[string]any
	if err := json.Unmarshal([]byte(timed.ReplaceAllString(b.recorded("agent.json"), ":TIME")), &agent); err != nil {
		t.Fatal(err)
	}
	same(t, "agent", map[string]any{
		"metadata": map[string]any{"created-by": "parley"},
		"definition": map[string]any{
			"kind": "hosted", "cpu": "0.5", "memory": "1Gi",
			"container_configuration": map[string]any{"image": "reg1.azurecr.io/sky:TIME"},
			"protocol_versions":       []any{map[string]any{"protocol": "responses", "version": "2.0.0"}},
			"environment_variables":   map[string]any{"GOOGLE_API_KEY": "quiet=secret", "B": ""},
		},
	}, agent)
	same(t, "source", []string{"Dockerfile", "agents/weather/index.ts", "agents/weather/lib/tools.ts", "parley"}, b.tree(filepath.Join(b.record, "source")))
	if text := b.recorded("source/Dockerfile"); !strings.Contains(text, `"--port", "8088", "--access", "platform", "--platforms", "foundry"]`) || strings.Contains(text, "secret") {
		t.Error(text)
	}
	if strings.Contains(stdout+stderr, "secret") {
		t.Errorf("the value of a variable is shown: %s", stdout+stderr)
	}
}

func TestDeployPlatformsRefuse(t *testing.T) {
	foundry := []string{"foundry", "--account", "a", "--project", "p", "--registry", "r"}
	for want, args := range map[string][]string{
		"--region and --role_arn must be given":             {"agentcore", "weather"},
		"--region: \"US\" cannot be a region":               {"agentcore", "--region", "US", "--role_arn", agentCore[4], "weather"},
		"--role_arn: \"admin\" is not the ARN":              {"agentcore", "--region", "r", "--role_arn", "admin", "weather"},
		"--repository: \"A\" must consist":                  append(slices.Clone(agentCore), "--repository", "A", "weather"),
		"--service_name":                                    append(slices.Clone(agentCore), "--service_name", "a_b", "weather"),
		"is not a Linux program for arm64":                  append(slices.Clone(agentCore), "--binary", "parley-linux", "weather"),
		"GOARCH=arm64 go build":                             append(slices.Clone(agentCore), "weather"), // this program is for amd64
		"--role-arn is set by parley":                       append(slices.Clone(agentCore), "weather", "--", "--role-arn=x"),
		"PARLEY_ACCESS after -- would change nothing":       append(slices.Clone(agentCore), "weather", "--", "--environment-variables", "PARLEY_ACCESS=public"),
		"--account and --project and --registry must":       {"foundry", "weather"},
		"--account: \"a.b\" must consist of letters":        {"foundry", "--account", "a.b", "--project", "p", "--registry", "r", "weather"},
		"--memory: \"2\" is not an amount":                  append(slices.Clone(foundry), "--memory", "2", "weather"),
		"--cpu: \"2Gi\" is not an amount":                   append(slices.Clone(foundry), "--cpu", "2Gi", "weather"),
		"--env: A-B must be NAME=value":                     append(slices.Clone(foundry), "--env", "A-B=secret", "weather"),
		"PARLEY_PORT after -- would change nothing: use":    append(slices.Clone(foundry), "--env", "PARLEY_PORT=1", "weather"),
		"parley-arm64 is not a Linux program for amd64":     append(slices.Clone(foundry), "--binary", "parley-arm64", "weather"),
		"only one AGENT_PATH":                               append(slices.Clone(foundry), "weather", "other"),
		"the main agent file is missing":                    append(slices.Clone(foundry), "empty"),
		"invalid argument \"grpc\" for \"--protocol\" flag": append(slices.Clone(agentCore), "--protocol", "grpc", "weather"),
	} {
		b := newBench(t)
		b.file("parley-arm64", programARM)
		b.file("empty/readme", "")
		code, _, stderr := b.deploy(args...)
		if code != ExitUsage || !strings.Contains(stderr, want) || strings.Contains(stderr, "secret") {
			t.Errorf("%q: exit code %d, %s", args, code, stderr)
		}
		if calls := b.calls(); calls != "" {
			t.Errorf("%q: %s", args, calls)
		}
	}
}

// A dry run shows what would be done, and no values of variables.
func TestDeployPlatformsDryRun(t *testing.T) {
	b := newBench(t)
	code, stdout, stderr := b.deploy("foundry", "--account", "a", "--project", "p", "--registry", "r", "--env", "KEY=secret", "--dry_run", "weather")
	if code != ExitOK || !strings.Contains(stdout, `"KEY": "…"`) || !strings.Contains(stdout, "$ az rest --method post") || strings.Contains(stdout, "secret") || b.calls() != "" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	b.file("parley-arm64", programARM)
	code, stdout, stderr = b.deploy(append(slices.Clone(agentCore), "--binary", "parley-arm64", "--dry_run", "weather")...)
	if code != ExitOK || !strings.Contains(stdout, "$ docker buildx build --platform linux/arm64") || !strings.Contains(stdout, "create-agent-runtime") || b.calls() != "" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}
