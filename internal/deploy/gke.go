package deploy

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The kinds of service that a deployment to Kubernetes can have.
const (
	LoadBalancer = "LoadBalancer"
	ClusterIP    = "ClusterIP"
)

// modelRole lets a service account use hosted models.
const modelRole = "roles/aiplatform.user"

// GKE is a deployment to a cluster of Google Kubernetes Engine.
type GKE struct {
	Options
	Cloud
	ClusterName string
	// ClusterLocation is a region or a zone; empty means Region.
	ClusterLocation string
	Namespace       string
	// Repository is one of Artifact Registry, in Project and Region. It is made
	// if it is not there.
	Repository string
	// ServiceType is LoadBalancer or ClusterIP.
	ServiceType string
	// Replicas is how many servers there are. More than one share a database.
	Replicas int
	// SessionDBURL goes into a Secret. Empty leaves the one that is there.
	SessionDBURL string
	// GrantModelRole lets the service use hosted models of the project.
	GrantModelRole bool
}

func (g *GKE) envSecret() string     { return g.ServiceName + "-env" }
func (g *GKE) sessionSecret() string { return g.ServiceName + "-sessions" }

// check refuses what cannot be deployed.
func (g *GKE) check() error {
	if err := g.Cloud.check(flag{"--cluster_name", g.ClusterName}); err != nil {
		return err
	}
	if err := g.checkServiceName(50); err != nil { // names of Secrets are longer, those of Services at most 63
		return err
	}
	if g.ClusterLocation == "" {
		g.ClusterLocation = g.Region
	}
	for _, one := range []flag{
		{"--cluster_name", g.ClusterName},
		{"--cluster_location", g.ClusterLocation},
		{"--namespace", g.Namespace},
		{"--repository", g.Repository},
	} {
		if !regionPattern.MatchString(one.value) {
			return usage("%s: %q must be of small letters, digits and dashes", one.name, one.value)
		}
	}
	switch {
	case g.Replicas < 1:
		return usage("--replicas: there must be at least one")
	case g.AgentEngineID != "" && g.SessionDBURL != "":
		return usage("--agent_engine_id and --session_db_url both say where sessions are kept")
	case g.Replicas > 1 && g.AgentEngineID != "":
		return usage("--replicas: servers on an engine do not know of each other's runs: there can be only one, or give a database with --session_db_url")
	case g.Replicas > 1 && g.SessionDBURL == "":
		return usage("--replicas: %d servers have to share a database: give it with --session_db_url", g.Replicas)
	case g.SessionDBURL != "":
		return checkURL(g.SessionDBURL)
	}
	return nil
}

// checkURL refuses databases that servers in different places cannot share.
func checkURL(sessions string) error {
	u, err := url.Parse(sessions)
	if err != nil || !utf8.ValidString(sessions) || strings.ContainsFunc(sessions, unicode.IsControl) || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return usage("--session_db_url: it must be a postgres:// URL, since files of a container are gone with it")
	}
	return nil
}

// Deploy builds the image, and makes or updates what runs in the cluster.
func (g *GKE) Deploy(ctx context.Context, env *Env) error {
	if err := g.check(); err != nil {
		return err
	}
	sessions, err := g.sessions()
	if err != nil {
		return err
	}
	im, err := g.image(env, sessions, g.variables())
	if err != nil {
		return err
	}
	public := false
	if g.ServiceType == LoadBalancer {
		question := "Allow unauthenticated invocations to [" + g.ServiceName + "] from the internet"
		if g.Access != "" {
			question = "Let callers from the internet reach [" + g.ServiceName + "], which checks them itself"
		}
		if public, err = env.ask(question); err != nil {
			return err
		}
	}
	im.access = cmp.Or(g.Access, "platform")
	if public {
		im.access = cmp.Or(g.Access, "public")
	}
	return g.perform(ctx, env, []string{"gcloud", "kubectl"}, func(ctx context.Context, j *job) error {
		j.say("Step 1 of 4: preparing the source in %s", j.dir)
		const source = "image" // what is beside it must not be uploaded
		if err := im.stage(j, source); err != nil {
			return err
		}
		tag := fmt.Sprintf("%s-docker.pkg.dev/%s/%s/%s:%s", g.Region, strings.ReplaceAll(g.Project, ":", "/"), g.Repository, g.ServiceName, env.Now().UTC().Format("20060102-150405"))
		if err := g.build(ctx, j, tag, j.path(source)); err != nil {
			return err
		}
		if err := g.grant(ctx, j); err != nil {
			return err
		}
		if err := g.apply(ctx, j, tag, im.app, public); err != nil {
			return err
		}
		g.explain(j, public)
		return nil
	})
}

// build makes the image with Cloud Build.
func (g *GKE) build(ctx context.Context, j *job, tag, source string) error {
	j.say("Step 2 of 4: building the image with Cloud Build")
	at := []string{g.Repository, "--location", g.Region, "--project", g.Project, "--verbosity", g.Verbosity}
	_, err := j.output(ctx, "", "gcloud", append([]string{"artifacts", "repositories", "describe"}, at...)...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		j.say("The repository is not there yet")
		if err := j.run(ctx, "gcloud", append([]string{"artifacts", "repositories", "create"}, append(at, "--repository-format", "docker")...)...); err != nil {
			return err
		}
	}
	return j.run(ctx, "gcloud", "builds", "submit", source, "--tag", tag, "--project", g.Project, "--verbosity", g.Verbosity)
}

// grant lets the service account of the pods use hosted models: workload
// identity federation knows it by the number of the project and its name, so no
// account of Google Cloud and no key is needed.
func (g *GKE) grant(ctx context.Context, j *job) error {
	if !g.GrantModelRole {
		j.say("Step 3 of 4: left out, the service account gets no role")
		return nil
	}
	j.say("Step 3 of 4: granting %s to the service account", modelRole)
	number, err := j.output(ctx, "PROJECT_NUMBER", "gcloud", "projects", "describe", g.Project, "--format", "value(projectNumber)", "--verbosity", g.Verbosity)
	if err != nil {
		return err
	}
	member := fmt.Sprintf("principal://iam.googleapis.com/projects/%s/locations/global/workloadIdentityPools/%s.svc.id.goog/subject/ns/%s/sa/%s",
		number, g.Project, g.Namespace, g.ServiceName)
	return j.run(ctx, "gcloud", "projects", "add-iam-policy-binding", g.Project, "--member", member, "--role", modelRole,
		"--condition", "None", "--format", "none", "--verbosity", g.Verbosity)
}

// apply tells the cluster, and waits until the servers are ready.
func (g *GKE) apply(ctx context.Context, j *job, tag, app string, public bool) error {
	j.say("Step 4 of 4: applying to the cluster %s", g.ClusterName)
	const dir = "manifests"
	text, err := g.manifests(tag, app, public)
	if err != nil {
		return err
	}
	if err := j.write(path.Join(dir, "parley.yaml"), text, text); err != nil {
		return err
	}
	if g.SessionDBURL != "" {
		text, shown, err := g.secret()
		if err != nil {
			return err
		}
		if err := j.write(path.Join(dir, "secret.yaml"), text, shown); err != nil {
			return err
		}
	}
	// The configuration of the user's own kubectl stays as it is.
	j.environ = []string{"KUBECONFIG=" + j.path("kubeconfig")}
	if err := j.run(ctx, "gcloud", g.credentials()...); err != nil {
		return err
	}
	if err := j.run(ctx, "kubectl", "apply", "--filename", j.path(dir)); err != nil {
		return err
	}
	return j.run(ctx, "kubectl", "rollout", "status", "deployment/"+g.ServiceName, "--namespace", g.Namespace, "--timeout", "5m")
}

func (g *GKE) credentials() []string {
	return []string{"container", "clusters", "get-credentials", g.ClusterName, "--location", g.ClusterLocation, "--project", g.Project}
}

// explain says what to know about the service.
func (g *GKE) explain(j *job, public bool) {
	switch {
	case g.ServiceType == ClusterIP:
		j.say("Programs in the cluster reach the server at http://%s.%s", g.ServiceName, g.Namespace)
	case public && g.Access != "":
		j.say("Callers reach the server, which checks them, at the external address that this shows when it has one:")
	case public:
		j.say("Anybody may call the server, at the external address that this shows when it has one:")
	default:
		j.say("Programs in the network of the cluster may call the server, at the address that this shows when it has one:")
	}
	j.say("  gcloud %s", strings.Join(g.credentials(), " "))
	j.say("  kubectl get service %s --namespace %s", g.ServiceName, g.Namespace)
	switch {
	case g.AgentEngineID != "":
		j.say("Sessions are kept by the engine %s, for which the role of the models is enough.", g.AgentEngineID)
	case g.SessionDBURL == "":
		j.say("Sessions are kept in memory, unless an earlier deployment has given a database: --session_db_url gives one.")
	}
	j.say("Variables for the agent, such as keys, are read from the Secret %s: kubectl create secret generic %[1]s --namespace %s --from-env-file <file>", g.envSecret(), g.Namespace)
}
