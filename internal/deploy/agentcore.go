package deploy

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// AgentCore is a deployment to the runtime of Amazon Bedrock AgentCore.
type AgentCore struct {
	Options
	Region string
	// Role is the ARN of the IAM role of the runtime.
	Role string
	// Repository is the name of the repository in Elastic Container Registry; empty
	// means the name of the service.
	Repository string
	// Protocol is how callers talk to the agent: one of Protocols.
	Protocol string
	// Extra are further arguments for the aws command that creates the runtime.
	Extra []string
}

// Protocols are those of AgentCore that a server speaks. The first one is the default.
var Protocols = []string{"http", "agui", "mcp", "a2a"}

// port is where the runtime expects the server.
func (a *AgentCore) port() int {
	switch a.Protocol {
	case "mcp":
		return 8000
	case "a2a":
		return 9000
	}
	return 8080
}

var (
	rolePattern       = regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]{1,256}$`)
	repositoryPattern = regexp.MustCompile(`^[a-z][a-z0-9]*([._/-][a-z0-9]+)*$`)
	accountPattern    = regexp.MustCompile(`^[0-9]{12}$`)
)

// runtimeArguments are the arguments of aws that parley sets.
var runtimeArguments = []string{
	"--agent-runtime-name", "--agent-runtime-id", "--agent-runtime-artifact", "--role-arn", "--protocol-configuration",
	"--region", "--output", "--query", "--cli-input-json", "--cli-input-yaml", "--generate-cli-skeleton",
}

func (a *AgentCore) check() error {
	if err := required(flag{"--region", a.Region}, flag{"--role_arn", a.Role}); err != nil {
		return err
	}
	if a.Repository == "" {
		a.Repository = a.ServiceName
	}
	switch {
	case !regionPattern.MatchString(a.Region):
		return usage("--region: %q cannot be a region", a.Region)
	case !rolePattern.MatchString(a.Role):
		return usage("--role_arn: %q is not the ARN of a role, as in arn:aws:iam::123456789012:role/my-agent", a.Role)
	case !repositoryPattern.MatchString(a.Repository) || len(a.Repository) > 256:
		return usage("--repository: %q must consist of lower-case letters, digits and dashes", a.Repository)
	}
	for _, arg := range a.Extra {
		name, _, _ := strings.Cut(arg, "=")
		if slices.Contains(runtimeArguments, name) {
			return usage("the argument %s is set by parley: leave it out after --, and use the flags of parley if there is one for it", name)
		}
	}
	if err := checkVariables(a.Extra); err != nil {
		return err
	}
	return a.checkServiceName(48)
}

// Deploy builds and pushes the image, and creates or updates the runtime.
func (a *AgentCore) Deploy(ctx context.Context, env *Env) error {
	if err := a.check(); err != nil {
		return err
	}
	a.Port, a.arch = a.port(), "arm64" // the runtime has no other machines
	im, err := a.image(env, "", nil)
	if err != nil {
		return err
	}
	im.access, im.platform = "platform", "agentcore"
	if !has(a.Extra, "--environment-variables") {
		im.hint = "The server gets variables with the arguments -- --environment-variables <name>=<value>"
	}
	return a.perform(ctx, env, []string{"aws", "docker"}, func(ctx context.Context, j *job) error {
		j.say("Step 1 of 3: preparing the source in %s", j.dir)
		const source = "image"
		if err := im.stage(j, source); err != nil {
			return err
		}
		tag, err := a.push(ctx, j, j.path(source), env.Now().UTC().Format("20060102-150405"))
		if err != nil {
			return err
		}
		return a.run(ctx, j, tag)
	})
}

// push builds the image, and pushes it to Elastic Container Registry.
func (a *AgentCore) push(ctx context.Context, j *job, source, version string) (tag string, err error) {
	j.say("Step 2 of 3: building the image for linux/arm64, and pushing it")
	account, err := j.output(ctx, "ACCOUNT", "aws", "sts", "get-caller-identity", "--query", "Account", "--output", "text", "--region", a.Region)
	if err != nil {
		return "", err
	}
	if !j.dryRun && !accountPattern.MatchString(account) {
		return "", fmt.Errorf("aws does not say which account is used, but %q", account)
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(a.Region, "cn-") {
		domain += ".cn"
	}
	registry := fmt.Sprintf("%s.dkr.ecr.%s.%s", account, a.Region, domain)
	_, err = j.output(ctx, "", "aws", "ecr", "describe-repositories", "--repository-names", a.Repository, "--region", a.Region)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		j.say("The repository does not exist yet")
		if err := j.run(ctx, "aws", "ecr", "create-repository", "--repository-name", a.Repository, "--tags", "Key=created-by,Value="+createdBy, "--region", a.Region); err != nil {
			return "", err
		}
	}
	password, err := j.output(ctx, "", "aws", "ecr", "get-login-password", "--region", a.Region)
	if err != nil {
		return "", err
	}
	if err := j.feed(ctx, password, "docker", "login", "--username", "AWS", "--password-stdin", registry); err != nil {
		return "", err
	}
	tag = registry + "/" + a.Repository + ":" + version
	// An attestation would make the image a list, which not every service takes.
	return tag, j.run(ctx, "docker", "buildx", "build", "--platform", "linux/arm64", "--provenance=false", "--label", "created-by="+createdBy, "--tag", tag, "--push", source)
}

// run creates the runtime, or updates the one that has the name.
func (a *AgentCore) run(ctx context.Context, j *job, tag string) error {
	name := strings.ReplaceAll(a.ServiceName, "-", "_") // dashes are not allowed there
	j.say("Step 3 of 3: deploying the runtime %s", name)
	const service = "bedrock-agentcore-control"
	id, err := j.output(ctx, "", "aws", service, "list-agent-runtimes", "--query", "agentRuntimes[?agentRuntimeName=='"+name+"'].agentRuntimeId", "--output", "text", "--region", a.Region)
	if err != nil {
		return err
	}
	args := []string{service, "create-agent-runtime", "--agent-runtime-name", name}
	if id = strings.Join(strings.Fields(id), " "); id != "" && id != "None" {
		args = []string{service, "update-agent-runtime", "--agent-runtime-id", id}
	}
	args = append(args, "--agent-runtime-artifact", "containerConfiguration={containerUri="+tag+"}", "--role-arn", a.Role,
		"--protocol-configuration", "serverProtocol="+strings.ToUpper(a.Protocol))
	if !slices.ContainsFunc(a.Extra, func(arg string) bool { return strings.HasPrefix(arg, "--network-configuration") }) {
		args = append(args, "--network-configuration", "networkMode=PUBLIC")
	}
	args = append(args, "--region", a.Region, "--query", "agentRuntimeArn", "--output", "text")
	j.hidden = variables(a.Extra, "--environment-variables")
	arn, err := j.output(ctx, "ARN", "aws", append(args, a.Extra...)...)
	if err != nil {
		return err
	}
	j.say("The runtime is %s", arn)
	if a.Protocol == "http" {
		j.say("Call it, with an id of the session of at least 33 characters: aws bedrock-agentcore invoke-agent-runtime --region %s --agent-runtime-arn %s "+
			"--runtime-session-id <id> --cli-binary-format raw-in-base64-out --payload '{\"prompt\": \"Hello\"}' answer.json", a.Region, arn)
	}
	j.say("Sessions are kept in the memory of each container, and end with it. To store them in a database, set PARLEY_SESSION_DB_URL.")
	return nil
}
