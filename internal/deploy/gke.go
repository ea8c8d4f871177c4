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

// GKE is a deployment to a Google Kubernetes Engine cluster.
type GKE struct {
	Options
	Cloud
	ClusterName string
	// ClusterLocation is a region or a zone; empty means Region.
	ClusterLocation string
	Namespace       string
	// Repository is an Artifact Registry repository in Project and Region. It is
	// created if it does not exist.
	Repository string
	// ServiceType is LoadBalancer or ClusterIP.
	ServiceType string
	// Replicas is the number of servers. More than one must share a database.
	Replicas int
	// SessionDBURL goes into a Secret. If empty, an existing Secret is kept.
	SessionDBURL string
	// GrantModelRole allows the service to use hosted models of the project.
	GrantModelRole bool
}

func (g *GKE) envSecret() string     { return g.ServiceName + "-env" }
func (g *GKE) sessionSecret() string { return g.ServiceName + "-sessions" }

// check returns an error if the options are invalid.
func (g *GKE) check() error {
	if err := g.Cloud.check(flag{"--cluster_name", g.ClusterName}); err != nil {
		return err
	}
	if err := g.checkServiceName(50); err != nil { // names of Secrets may be longer, those of Services have at most 63 characters
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
			return usage("%s: %q must consist of lower-case letters, digits and dashes", one.name, one.value)
		}
	}
	switch {
	case g.Replicas < 1:
		return usage("--replicas: must be at least 1")
	case g.AgentEngineID != "" && g.SessionDBURL != "":
		return usage("--agent_engine_id and --session_db_url both set where sessions are stored")
	case g.Replicas > 1 && g.AgentEngineID != "":
		return usage("--replicas: servers on an engine do not share runs: use 1 replica, or set a database with --session_db_url")
	case g.Replicas > 1 && g.SessionDBURL == "":
		return usage("--replicas: %d servers must share a database: set it with --session_db_url", g.Replicas)
	case g.SessionDBURL != "":
		return checkURL(g.SessionDBURL)
	}
	return nil
}

// checkURL rejects databases that servers on different machines cannot share.
func checkURL(sessions string) error {
	u, err := url.Parse(sessions)
	if err != nil || !utf8.ValidString(sessions) || strings.ContainsFunc(sessions, unicode.IsControl) || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return usage("--session_db_url: must be a postgres:// URL, because the files of a container are deleted with it")
	}
	return nil
}

// Deploy builds the image, and creates or updates the resources in the cluster.
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
	im.hint = fmt.Sprintf("The server gets variables from the Secret %s, see below", g.envSecret())
	im.access = cmp.Or(g.Access, "platform")
	if public {
		im.access = cmp.Or(g.Access, "public")
	}
	return g.perform(ctx, env, []string{"gcloud", "kubectl"}, func(ctx context.Context, j *job) error {
		j.say("Step 1 of 4: preparing the source in %s", j.dir)
		const source = "image" // the directory also has files that must not be uploaded
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

// build builds the image with Cloud Build.
func (g *GKE) build(ctx context.Context, j *job, tag, source string) error {
	j.say("Step 2 of 4: building the image with Cloud Build")
	at := []string{g.Repository, "--location", g.Region, "--project", g.Project, "--verbosity", g.Verbosity}
	_, err := j.output(ctx, "", "gcloud", append([]string{"artifacts", "repositories", "describe"}, at...)...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		j.say("The repository does not exist yet")
		if err := j.run(ctx, "gcloud", append([]string{"artifacts", "repositories", "create"}, append(at, "--repository-format", "docker")...)...); err != nil {
			return err
		}
	}
	return j.run(ctx, "gcloud", "builds", "submit", source, "--tag", tag, "--project", g.Project, "--verbosity", g.Verbosity)
}

// grant allows the service account of the pods to use hosted models. Workload
// identity federation identifies it by the project number and its name, so no
// Google Cloud account and no key are needed.
func (g *GKE) grant(ctx context.Context, j *job) error {
	if !g.GrantModelRole {
		j.say("Step 3 of 4: skipped, the service account gets no role")
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

// apply applies the manifests to the cluster, and waits until the servers are
// ready.
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
	// The user's kubectl configuration must not change.
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

// explain prints how to reach and configure the service.
func (g *GKE) explain(j *job, public bool) {
	switch {
	case g.ServiceType == ClusterIP:
		j.say("Programs in the cluster reach the server at http://%s.%s", g.ServiceName, g.Namespace)
	case public && g.Access != "":
		j.say("The server authenticates callers. Its external address, once assigned:")
	case public:
		j.say("The server is public. Its external address, once assigned:")
	default:
		j.say("Programs in the network of the cluster may call the server. Its address, once assigned:")
	}
	j.say("  gcloud %s", strings.Join(g.credentials(), " "))
	j.say("  kubectl get service %s --namespace %s", g.ServiceName, g.Namespace)
	switch {
	case g.AgentEngineID != "":
		j.say("Sessions are stored in the engine %s; the role for models is sufficient.", g.AgentEngineID)
	case g.SessionDBURL == "":
		j.say("Sessions are kept in memory, unless an earlier deployment set a database. To set one, use --session_db_url.")
	}
	j.say("Variables for the agent, such as keys, are read from the Secret %s: kubectl create secret generic %[1]s --namespace %s --from-env-file <file>", g.envSecret(), g.Namespace)
}
