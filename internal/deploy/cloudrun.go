package deploy

import (
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

// Deploy makes or updates the service.
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
		return usage("--agent_engine_id and PARLEY_SESSION_DB_URL both say where sessions are kept")
	}
	// Whatever is wrong with the agent is said before anything is asked.
	if _, err := c.image(env, "platform", sessions, nil); err != nil {
		return err
	}
	if extra.public == nil {
		yes, err := env.ask("Allow unauthenticated invocations to [" + c.ServiceName + "]")
		if err != nil {
			return err
		}
		extra.public = &yes
	}
	access, allow := "platform", "--no-allow-unauthenticated"
	if *extra.public {
		access, allow = "public", "--allow-unauthenticated"
	}
	im, err := c.image(env, access, sessions, c.variables())
	if err != nil {
		return err
	}
	return c.perform(ctx, env, []string{"gcloud"}, func(ctx context.Context, j *job) error {
		j.say("Preparing the source in %s", j.dir)
		if err := im.stage(j, "", c.AgentDir); err != nil {
			return err
		}
		j.say("Deploying %s to Cloud Run in %s", c.ServiceName, c.Region)
		args := []string{
			"run", "deploy", c.ServiceName, "--source", j.dir, "--project", c.Project, "--region", c.Region,
			"--port", strconv.Itoa(c.Port), "--verbosity", c.Verbosity, "--labels", extra.labels, allow,
		}
		if err := j.run(ctx, "gcloud", append(args, extra.rest...)...); err != nil {
			return err
		}
		c.explain(j, extra)
		return nil
	})
}

// explain says what to know about the service.
func (c *CloudRun) explain(j *job, extra *extra) {
	switch {
	case c.AgentEngineID != "":
		j.say("Sessions are kept by the engine %s; the service account needs the role roles/aiplatform.user. Instances do not know of each other's runs: "+
			"deploy with -- --max-instances 1, or at least -- --session-affinity.", c.AgentEngineID)
	case !extra.sessions():
		j.say("Sessions are kept in the memory of each instance, and are gone with it. To keep them in a database, set PARLEY_SESSION_DB_URL.")
	}
	if !*extra.public {
		j.say("Callers need an identity token: curl -H \"Authorization: Bearer $(gcloud auth print-identity-token)\" <url>/list-apps")
	}
}

// extra is what the arguments for gcloud say.
type extra struct {
	public *bool // whether anybody may call; nil if they do not say
	labels string
	rest   []string
}

// sessions reports whether they say where sessions are kept.
func (e *extra) sessions() bool {
	return strings.Contains(strings.Join(e.rest, " "), "PARLEY_SESSION_DB_URL")
}

// taken are the arguments of gcloud that follow from flags of ours, or that
// would start something else than the server.
var taken = []string{
	"--source", "--image", "--project", "--region", "--port", "--verbosity", "--command", "--args", "--function",
	"--base-image", "--containers", "--container",
}

func readExtra(args []string) (*extra, error) {
	e := &extra{labels: "created-by=" + createdBy}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		switch {
		case slices.Contains(taken, name):
			return nil, usage("the argument %s is set by parley: leave it out after --, and use the flags of parley if there is one for it", name)
		case name == "--allow-unauthenticated" || name == "--no-allow-unauthenticated":
			public := name == "--allow-unauthenticated"
			if joined || e.public != nil && *e.public != public {
				return nil, usage("the arguments after -- must say either --allow-unauthenticated or --no-allow-unauthenticated")
			}
			e.public = &public
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
