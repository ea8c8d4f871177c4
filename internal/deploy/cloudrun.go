package deploy

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
)

// CloudRun is a deployment to Cloud Run, which builds the image itself.
type CloudRun struct {
	Options
	Cloud
	// Extra are further arguments for gcloud run deploy.
	Extra []string
}

// Deploy creates or updates the service.
func (c *CloudRun) Deploy(ctx context.Context, env *Env) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := c.checkServiceName(49); err != nil { // Cloud Run's own limit
		return err
	}
	extra, err := readExtra(c.Extra)
	if err != nil {
		return err
	}
	sessions, err := c.sessions()
	if err != nil {
		return err
	}
	if sessions != "" && extra.sessions() {
		return usage("--agent_engine_id and PARLEY_SESSION_DB_URL both set where sessions are stored")
	}
	im, err := c.image(env, sessions, c.variables())
	if err != nil {
		return err
	}
	if extra.public == nil {
		yes, err := env.ask("Allow unauthenticated invocations to [" + c.ServiceName + "]")
		if err != nil {
			return err
		}
		extra.public, extra.granted = &yes, yes
	}
	if !has(extra.rest, "--set-env-vars", "--update-env-vars", "--env-vars-file", "--set-secrets", "--update-secrets") {
		im.hint = "The server gets variables with the arguments -- --set-env-vars <name>=<value>, and secrets with -- --set-secrets <name>=<secret>:latest"
	}
	im.access = cmp.Or(c.Access, "platform")
	if *extra.public {
		im.access = cmp.Or(c.Access, "public")
	}
	if im.access == "public" { // Google's front end authenticates callers
		im.variables = append(im.variables, flag{"PARLEY_PROXIED", "true"})
	}
	allow := "--no-allow-unauthenticated"
	if extra.granted {
		allow = "--allow-unauthenticated"
	}
	return c.perform(ctx, env, []string{"gcloud"}, func(ctx context.Context, j *job) error {
		j.say("Preparing the source in %s", j.dir)
		if err := im.stage(j, ""); err != nil {
			return err
		}
		j.say("Deploying %s to Cloud Run in %s", c.ServiceName, c.Region)
		args := []string{
			"run", "deploy", c.ServiceName, "--source", j.dir, "--project", c.Project, "--region", c.Region,
			"--port", strconv.Itoa(c.Port), "--verbosity", c.Verbosity, "--labels", extra.labels, allow,
		}
		j.hidden = variables(extra.rest, "--set-env-vars", "--update-env-vars", "--set-build-env-vars", "--update-build-env-vars")
		if err := j.run(ctx, "gcloud", append(args, extra.rest...)...); err != nil {
			return err
		}
		c.explain(j, extra)
		return nil
	})
}

// explain prints what to know about the service.
func (c *CloudRun) explain(j *job, extra *extra) {
	switch {
	case c.AgentEngineID != "":
		j.say("Sessions are stored in the engine %s; the service account needs the role roles/aiplatform.user. Instances do not share runs: "+
			"deploy with -- --max-instances 1, or at least -- --session-affinity.", c.AgentEngineID)
	case !extra.sessions():
		j.say("Sessions are kept in the memory of each instance, and end with it. To store them in a database, set PARLEY_SESSION_DB_URL.")
	}
	if *extra.public {
		return
	}
	header := "Authorization"
	if c.Access != "" { // that one is for the server
		header = "X-Serverless-Authorization"
	}
	j.say("Callers need an identity token: curl -H \"%s: Bearer $(gcloud auth print-identity-token)\" <url>/list-apps", header)
}

// extra is the result of parsing the arguments for gcloud.
type extra struct {
	public *bool // whether the service is public; nil if not specified
	// granted means that all users have the permission. Otherwise Cloud Run does not check callers.
	granted bool
	labels  string
	rest    []string
}

// sessions reports whether the arguments set the session database.
func (e *extra) sessions() bool {
	return strings.Contains(strings.Join(e.rest, " "), "PARLEY_SESSION_DB_URL")
}

// taken are the arguments of gcloud that are set by Parley's flags, or that would start something other than the
// server.
var taken = []string{
	"--source", "--image", "--project", "--region", "--port", "--verbosity", "--command", "--args", "--function",
	"--base-image", "--containers", "--container",
}

// opening are the arguments of gcloud that make a service public: by granting the permission, or by disabling the
// check.
var opening = []string{"--allow-unauthenticated", "--no-invoker-iam-check", "--public"}

func readExtra(args []string) (*extra, error) {
	if err := checkVariables(args); err != nil {
		return nil, err
	}
	e := &extra{labels: "created-by=" + createdBy}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		switch {
		case slices.Contains(taken, name):
			return nil, usage("the argument %s is set by parley: leave it out after --, and use the flags of parley if there is one for it", name)
		case name == "--flags-file":
			return nil, usage("the argument --flags-file after -- is refused: parley has to know who may call, so give the flags themselves")
		case slices.Contains(opening, name) || name == "--no-allow-unauthenticated":
			public := name != "--no-allow-unauthenticated"
			if joined || e.public != nil && *e.public != public {
				return nil, usage("the arguments after -- must say either --allow-unauthenticated (or --no-invoker-iam-check, which also makes it public) or --no-allow-unauthenticated")
			}
			e.public = &public
			if name == "--allow-unauthenticated" {
				e.granted = true
			} else if public {
				e.rest = append(e.rest, name)
			}
		case name == "--labels":
			if !joined {
				if i++; i == len(args) {
					return nil, usage("the argument --labels after -- needs a value")
				}
				value = args[i]
			}
			e.labels += "," + value
		default:
			e.rest = append(e.rest, args[i])
		}
	}
	return e, nil
}
