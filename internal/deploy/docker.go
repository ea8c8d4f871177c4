package deploy

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/parley-run/parley/internal/loopback"
)

// Docker is a deployment to the Docker engine of this machine.
type Docker struct {
	Options
	// Extra are further arguments for docker run.
	Extra []string
}

// Deploy builds the image and starts it, in place of the container that an
// earlier deployment has started. Only programs on this machine can reach it.
func (d *Docker) Deploy(ctx context.Context, env *Env) error {
	if err := d.checkServiceName(63); err != nil {
		return err
	}
	if err := checkVariables(d.Extra); err != nil {
		return err
	}
	if arg := exposing(d.Extra); arg != "" && d.Access == "" {
		return usage("%s after -- lets other machines reach the server, which does not authenticate callers: choose who may call with --access oidc or --access keys, before --", arg)
	}
	// A page in a browser is a local client, too, and its site can have a host name
	// that resolves to this machine. So the server accepts no other host names than
	// these.
	im, err := d.image(env, "", []flag{{"PARLEY_ALLOW_HOSTS", "localhost,127.0.0.1"}})
	if err != nil {
		return err
	}
	// Docker's port forwarding accepts connections from this machine only.
	im.access = cmp.Or(d.Access, "platform")
	if !has(d.Extra, "--env-file", "--env", "-e") {
		im.hint = "The server gets the variables of a file with the arguments -- --env-file <file>"
	}
	return d.perform(ctx, env, []string{"docker"}, func(ctx context.Context, j *job) error {
		j.say("Preparing the source in %s", j.dir)
		if err := im.stage(j, ""); err != nil {
			return err
		}
		j.say("Building the image %s", d.ServiceName)
		before, err := d.before(ctx, j, im.app)
		if err != nil {
			return err
		}
		if err := j.run(ctx, "docker", "build", "--platform", "linux/amd64", "--label", createdLabel, "--label", appLabel+"="+im.app, "--tag", d.ServiceName, j.dir); err != nil {
			return err
		}
		for _, id := range before {
			if err := j.run(ctx, "docker", "rm", "--force", id); err != nil {
				return err
			}
		}
		j.say("Starting the container %s", d.ServiceName)
		args := []string{
			"run", "--detach", "--platform", "linux/amd64", "--name", d.ServiceName, "--restart", "unless-stopped",
			"--publish", fmt.Sprintf("127.0.0.1:%[1]d:%[1]d", d.Port),
		}
		args = append(append(args, d.Extra...), d.ServiceName)
		j.hidden = variables(d.Extra, "--env", "-e")
		if err := j.run(ctx, "docker", args...); err != nil {
			return err
		}
		return d.await(ctx, j)
	})
}

// Limits of await: the time for a server to load its agents, the pause between two
// requests, and the time for one.
const (
	startTime   = 30 * time.Second
	startPause  = 500 * time.Millisecond
	requestTime = 5 * time.Second
)

// await waits until the server answers. Docker has started the container by then, which
// says nothing about the server in it.
func (d *Docker) await(ctx context.Context, j *job) error {
	address := fmt.Sprintf("http://127.0.0.1:%d", d.Port)
	if !j.dryRun {
		transport := j.env.Transport
		if transport == nil {
			transport = &http.Transport{DisableKeepAlives: true}
		}
		limited, cancel := context.WithTimeout(ctx, startTime)
		defer cancel()
		for {
			said := answers(limited, transport, address+"/readyz")
			if said == nil {
				break
			}
			select {
			case <-time.After(startPause):
				continue
			case <-limited.Done():
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("the container %[1]s was started, but its server does not answer at %[2]s (%[3]w): docker logs %[1]s shows why", d.ServiceName, address, said)
		}
	}
	j.say("The server is at %s, for programs on this machine.", address)
	return nil
}

// answers returns nil if a server answers at an address. One that refuses the request
// is there, too: it may accept other host names only.
func answers(ctx context.Context, transport http.RoundTripper, address string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("the status is %d", resp.StatusCode)
	}
	return nil
}

// Labels of images, and so of their containers.
const (
	createdLabel = "created-by=" + createdBy
	appLabel     = "run.parley.app"
)

// before returns the containers of earlier deployments under the same name. Those of
// another agent are replaced only if the user has chosen the name.
func (d *Docker) before(ctx context.Context, j *job, app string) (ids []string, err error) {
	found, err := j.output(ctx, "", "docker", "ps", "--all", "--filter", "name=^/"+d.ServiceName+"$", "--filter", "label="+createdLabel,
		"--format", `{{.ID}} {{.Label "`+appLabel+`"}}`)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(found) {
		id, other, _ := strings.Cut(strings.TrimSpace(line), " ")
		if other != "" && other != app && d.ServiceName == DefaultServiceName { // older ones have no label
			return nil, usage("the container %s runs the agent %s: choose another name for this one with --service_name, or remove that container with docker rm --force %[1]s", d.ServiceName, other)
		}
		if id != "" {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// exposing returns the argument for docker run that lets other machines reach the
// server, or "".
func exposing(args []string) string {
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		if port, short := strings.CutPrefix(name, "-p"); short {
			name = "--publish"
			if port != "" && !joined {
				value = port
			}
		}
		switch name {
		case "--publish":
			if address := value[:max(strings.LastIndexByte(value, ':'), 0)]; !loopback.Is(address) {
				return arg
			}
		case "--network", "--net":
			if value == "host" {
				return arg
			}
		case "--publish-all", "-P":
			return arg
		}
	}
	return ""
}
