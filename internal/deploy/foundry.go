package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Foundry is a deployment to Microsoft Foundry, as a hosted agent.
type Foundry struct {
	Options
	// Account is the name of the Foundry resource, and Project that of a project in it.
	Account, Project string
	// Registry is the name of a registry of Azure Container Registry, which builds the
	// image.
	Registry string
	// CPU and Memory are what a container gets.
	CPU, Memory string
	// Variables are those of the environment of the server, as in NAME=value.
	Variables []string
}

var (
	azurePattern    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`)
	resourcePattern = regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,2})?(Gi)?$`)
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// foundryProtocol is the version of the protocol in which Foundry tells who the user is.
const foundryProtocol = "2.0.0"

func (f *Foundry) check() error {
	names := []flag{{"--account", f.Account}, {"--project", f.Project}, {"--registry", f.Registry}}
	if err := required(names...); err != nil {
		return err
	}
	for _, one := range names {
		if !azurePattern.MatchString(one.value) {
			return usage("%s: %q must consist of letters, digits and dashes", one.name, one.value)
		}
	}
	for _, one := range []flag{{"--cpu", f.CPU}, {"--memory", f.Memory}} {
		if !resourcePattern.MatchString(one.value) || strings.HasSuffix(one.value, "Gi") != (one.name == "--memory") {
			return usage("%s: %q is not an amount, such as 1 for --cpu and 2Gi for --memory", one.name, one.value)
		}
	}
	if err := checkVariables(f.Variables); err != nil {
		return err
	}
	return f.checkServiceName(63)
}

// environment returns the variables by their names.
func (f *Foundry) environment() (map[string]string, error) {
	variables := map[string]string{}
	for _, one := range f.Variables {
		name, value, ok := strings.Cut(one, "=")
		if !ok || !variablePattern.MatchString(name) || strings.ContainsFunc(value, unicode.IsControl) {
			return nil, usage("--env: %s must be NAME=value", name)
		}
		variables[name] = value
	}
	return variables, nil
}

// Deploy builds the image, and creates the agent, or a new version of it.
func (f *Foundry) Deploy(ctx context.Context, env *Env) error {
	if err := f.check(); err != nil {
		return err
	}
	variables, err := f.environment()
	if err != nil {
		return err
	}
	f.Port = 8088
	im, err := f.image(env, "", nil)
	if err != nil {
		return err
	}
	im.access, im.platform = "platform", "foundry"
	if len(variables) == 0 {
		im.hint = "The server gets variables with --env <name>=<value>"
	}
	return f.perform(ctx, env, []string{"az"}, func(ctx context.Context, j *job) error {
		j.say("Step 1 of 3: preparing the source in %s", j.dir)
		const source = "image" // the directory also has a file that must not be uploaded
		if err := im.stage(j, source); err != nil {
			return err
		}
		j.say("Step 2 of 3: building the image in Azure Container Registry")
		name := f.ServiceName + ":" + env.Now().UTC().Format("20060102-150405")
		if err := j.run(ctx, "az", "acr", "build", "--registry", f.Registry, "--image", name, "--platform", "linux/amd64", j.path(source)); err != nil {
			return err
		}
		return f.create(ctx, j, strings.ToLower(f.Registry)+".azurecr.io/"+name, variables)
	})
}

// create creates a version of the agent.
func (f *Foundry) create(ctx context.Context, j *job, image string, variables map[string]string) error {
	j.say("Step 3 of 3: creating a version of the agent %s", f.ServiceName)
	text, err := f.definition(image, variables)
	if err != nil {
		return err
	}
	hidden := map[string]string{}
	for name := range variables {
		hidden[name] = "…"
	}
	shown, err := f.definition(image, hidden)
	if err != nil {
		return err
	}
	const file = "agent.json"
	if err := j.write(file, text, shown); err != nil {
		return err
	}
	agents := fmt.Sprintf("https://%s.services.ai.azure.com/api/projects/%s/agents/%s", strings.ToLower(f.Account), f.Project, f.ServiceName)
	const resource = "https://ai.azure.com" // az cannot tell it from the URL
	if err := j.run(ctx, "az", "rest", "--method", "post", "--url", agents+"/versions?api-version=v1", "--resource", resource,
		"--headers", "Content-Type=application/json", "--body", "@"+j.path(file), "--query", "{name: name, version: version, status: status}"); err != nil {
		return err
	}
	j.say("The version can be called when its status is active: az rest --method get --url '%s?api-version=v1' --resource %s", agents, resource)
	j.say("The identity of the project needs the role AcrPull on the registry %s.", f.Registry)
	if variables["PARLEY_SESSION_DB_URL"] == "" {
		j.say("Sessions are kept in the memory of each container, and end with it. To store them in a database, set PARLEY_SESSION_DB_URL with --env.")
	}
	return nil
}

// definition returns the body of the request.
func (f *Foundry) definition(image string, variables map[string]string) (string, error) {
	doc, err := json.MarshalIndent(map[string]any{
		"metadata": map[string]string{"created-by": createdBy},
		"definition": map[string]any{
			"kind":                    "hosted",
			"container_configuration": map[string]string{"image": image},
			"protocol_versions":       []map[string]string{{"protocol": "responses", "version": foundryProtocol}},
			"cpu":                     f.CPU,
			"memory":                  f.Memory,
			"environment_variables":   variables,
		},
	}, "", "  ")
	return string(doc) + "\n", err
}
