// Package charts tests the Helm chart: it is rendered by Helm itself, and read
// as Kubernetes reads it.
package charts

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// program is Helm's, built from the module cache.
var program = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "tool", "-modfile=tools/helm.mod", "-n", "helm")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = errors.New(string(exit.Stderr))
	}
	return strings.TrimSpace(string(out)), err
})

// helm runs a command of Helm, for a cluster that is not there.
func helm(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append(args, "--kube-version=1.30")...)
	cmd.Dir = ".."
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", errors.New(errs.String())
	}
	return out.String(), nil
}

// rendered are the objects of a release, by their kinds.
type rendered struct {
	account    *corev1.ServiceAccount
	deployment *appsv1.Deployment
	service    *corev1.Service
	secret     *corev1.Secret
	budget     *policyv1.PodDisruptionBudget
	scaler     *autoscalingv2.HorizontalPodAutoscaler
	scaled     *scaledObject
}

// scaledObject is what KEDA reads.
type scaledObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		ScaleTargetRef struct {
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicaCount int `json:"minReplicaCount"`
		MaxReplicaCount int `json:"maxReplicaCount"`
		Triggers        []struct {
			Type       string            `json:"type"`
			MetricType string            `json:"metricType"`
			Metadata   map[string]string `json:"metadata"`
		} `json:"triggers"`
	} `json:"spec"`
}

// render renders a release and reads it strictly: a member that Kubernetes does
// not know is an error.
func render(t *testing.T, args ...string) (r rendered) {
	t.Helper()
	text, err := helm(t, append([]string{"template", "sky", "charts/parley", "--namespace", "agents", "--set", "image.repository=registry.example/weather"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	for documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return r
		}
		var kind struct{ Kind string }
		if err := strict.Unmarshal(document, &kind); err != nil {
			t.Fatal(err)
		}
		var into any
		switch kind.Kind {
		case "ServiceAccount":
			r.account = &corev1.ServiceAccount{}
			into = r.account
		case "Deployment":
			r.deployment = &appsv1.Deployment{}
			into = r.deployment
		case "Service":
			r.service = &corev1.Service{}
			into = r.service
		case "Secret":
			r.secret = &corev1.Secret{}
			into = r.secret
		case "PodDisruptionBudget":
			r.budget = &policyv1.PodDisruptionBudget{}
			into = r.budget
		case "HorizontalPodAutoscaler":
			r.scaler = &autoscalingv2.HorizontalPodAutoscaler{}
			into = r.scaler
		case "ScaledObject":
			r.scaled = &scaledObject{}
			into = r.scaled
		default:
			t.Fatalf("an object of the kind %q", kind.Kind)
		}
		if err := strict.UnmarshalStrict(document, into); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
	}
}

func variable(c corev1.Container, name string) *corev1.EnvVar {
	if at := slices.IndexFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == name }); at >= 0 {
		return &c.Env[at]
	}
	return nil
}

func TestDefaults(t *testing.T) {
	r := render(t)
	if r.secret != nil || r.budget != nil || r.account == nil {
		t.Errorf("%+v", r)
	}
	pod := r.deployment.Spec.Template
	server := pod.Spec.Containers[0]
	if *r.deployment.Spec.Replicas != 1 || r.deployment.Name != "sky-parley" || r.deployment.Namespace != "agents" || pod.Spec.ServiceAccountName != r.account.Name {
		t.Errorf("%+v", r.deployment)
	}
	want := []string{"api_server", "--agent_dir", "/agents", "--host", "0.0.0.0", "--port", "8080", "--access", "platform"}
	if !slices.Equal(server.Args, want) || server.Image != "registry.example/weather:latest" || variable(server, "PARLEY_SESSION_DB_URL") != nil {
		t.Errorf("%+v", server)
	}
	if stop := server.Lifecycle.PreStop; stop.Sleep == nil || stop.Sleep.Seconds != 5 {
		t.Errorf("%+v", stop)
	}
	for path, probe := range map[string]*corev1.Probe{"/health": server.LivenessProbe, "/readyz": server.ReadinessProbe} {
		if probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != server.Ports[0].Name || server.Ports[0].ContainerPort != 8080 {
			t.Errorf("%s: %+v", path, probe.HTTPGet)
		}
	}
	for k, v := range r.service.Spec.Selector {
		if pod.Labels[k] != v || r.deployment.Spec.Selector.MatchLabels[k] != v {
			t.Errorf("the label %s selects nothing", k)
		}
	}
	if s := r.service.Spec; s.Type != corev1.ServiceTypeClusterIP || s.Ports[0].Port != 80 || s.Ports[0].TargetPort.StrVal != server.Ports[0].Name {
		t.Errorf("%+v", s)
	}
}

func TestThreeReplicasOnPostgres(t *testing.T) {
	const url = `postgres://u:p'"@db/parley?x={{y}}`
	r := render(t, "--set", "replicas=3", "--set-literal", "sessionDatabase.url="+url, "--set", "envSecret=keys", "--set", "service.type=LoadBalancer",
		"--set", "access=public", "--set", "args={--session_ttl,720h}", "--set", "env[0].name=A", "--set-string", "env[0].value=yes")
	server := r.deployment.Spec.Template.Spec.Containers[0]
	ref := variable(server, "PARLEY_SESSION_DB_URL").ValueFrom.SecretKeyRef
	if *r.deployment.Spec.Replicas != 3 || r.budget.Spec.MaxUnavailable.IntVal != 1 || ref.Name != r.secret.Name || r.secret.StringData[ref.Key] != url {
		t.Errorf("%+v %+v %+v", ref, r.secret, r.budget)
	}
	if server.EnvFrom[0].SecretRef.Name != "keys" || variable(server, "A").Value != "yes" || r.service.Spec.Type != corev1.ServiceTypeLoadBalancer ||
		!strings.HasSuffix(strings.Join(server.Args, " "), "--access public --session_ttl 720h") {
		t.Errorf("%+v", server)
	}
	r = render(t, "--set", "replicas=3", "--set", "sessionDatabase.existingSecret=db", "--set", "sessionDatabase.key=address")
	ref = variable(r.deployment.Spec.Template.Spec.Containers[0], "PARLEY_SESSION_DB_URL").ValueFrom.SecretKeyRef
	if r.secret != nil || ref.Name != "db" || ref.Key != "address" {
		t.Errorf("%+v %+v", ref, r.secret)
	}
}

// Servers that share a database learn the address at which the others reach them.
func TestPeerAddress(t *testing.T) {
	address := func(set ...string) []corev1.EnvVar {
		t.Helper()
		var args []string
		for _, one := range set {
			args = append(args, "--set-string", one)
		}
		list := render(t, args...).deployment.Spec.Template.Spec.Containers[0].Env
		return slices.DeleteFunc(list, func(v corev1.EnvVar) bool { return v.Name != "PARLEY_PEER_ADDRESS" })
	}
	if got := address(); len(got) != 0 {
		t.Errorf("without a database: %+v", got)
	}
	const database = "sessionDatabase.existingSecret=db"
	if got := address(database); len(got) != 1 || got[0].ValueFrom.FieldRef.FieldPath != "status.podIP" {
		t.Errorf("with a database: %+v", got)
	}
	if got := address(database, "env[0].name=PARLEY_PEER_ADDRESS", "env[0].value=https://a.example"); len(got) != 1 || got[0].Value != "https://a.example" {
		t.Errorf("with another address: %+v", got)
	}
}

// A server that checks callers itself gets what it needs for that.
func TestAccess(t *testing.T) {
	args := func(set ...string) string {
		var list []string
		for _, one := range set {
			list = append(list, "--set", one)
		}
		return strings.Join(render(t, list...).deployment.Spec.Template.Spec.Containers[0].Args[7:], " ")
	}
	for _, test := range []struct{ got, want string }{
		{
			args("access=oidc", "oidc.issuers={https://a.example,b=https://b.example}", "oidc.audiences={x,y}"),
			"--access oidc --oidc_issuer https://a.example --oidc_issuer b=https://b.example --oidc_audience x --oidc_audience y",
		},
		{args("access=keys", "sessionDatabase.existingSecret=db"), "--access keys"},
		{args("access=keys", "envSecret=env"), "--access keys"},
		{args("access=keys", "env[0].name=PARLEY_KEYS_DB_URL", "env[0].value=postgres://db/keys"), "--access keys"},
		{args("access=keys", "args={--keys_db_url,postgres://db/keys}"), "--access keys --keys_db_url postgres://db/keys"},
		{args("allowHosts={localhost,*.example.com}"), "--access platform --allow_hosts localhost --allow_hosts *.example.com"},
	} {
		if test.got != test.want {
			t.Errorf("%s, want %s", test.got, test.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for set, want := range map[string]string{
		"replicas=3":        "share a database",
		"image.repository=": "repository",
		"access=local":      "access",
		"access=oidc":       "issuers",
		"access=oidc,oidc.issuers={https://a.example}": "audiences",
		"access=keys":                        "database",
		"oidc.issuers={http://a b}":          "issuers",
		"allowHosts={https://x}":             "allowHosts",
		"replica=3":                          "replica",
		"sessionDatabase.url=sqlite:///x.db": "url",
	} {
		if _, err := helm(t, "template", "sky", "charts/parley", "--set", "image.repository=x", "--set", set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", set, err)
		}
	}
}

func TestLint(t *testing.T) {
	if _, err := helm(t, "lint", "charts/parley", "--strict", "--set", "image.repository=x"); err != nil {
		t.Error(err)
	}
}

// The command that the page about hosting shows installs what it says.
func TestDocumentedInstallation(t *testing.T) {
	page, err := os.ReadFile("../docs/hosting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "\nhelm install parley charts/parley ")
	if !ok {
		t.Fatal("the page does not show it")
	}
	line, rest, _ := strings.Cut(rest, "\n")
	r := render(t, strings.Fields(line)...)
	server := r.deployment.Spec.Template.Spec.Containers[0]
	if *r.deployment.Spec.Replicas != 3 || server.Image != "registry.example.com/my-agents:1" ||
		variable(server, "PARLEY_SESSION_DB_URL").ValueFrom.SecretKeyRef.Name != "parley-db" || server.EnvFrom[0].SecretRef.Name != "agent-env" {
		t.Errorf("%+v", r.deployment)
	}
	if _, rest, ok = strings.Cut(rest, "\nhelm upgrade parley charts/parley --reuse-values "); !ok {
		t.Fatal("the page does not show how to allow hosts")
	}
	more, _, _ := strings.Cut(rest, "\n")
	r = render(t, strings.Fields(line+" "+strings.ReplaceAll(more, "'", ""))...)
	server = r.deployment.Spec.Template.Spec.Containers[0]
	if got := strings.Join(server.Args, " "); !strings.HasSuffix(got, "--allow_hosts localhost --allow_hosts agents.example.com") {
		t.Error(got)
	}
}

// With autoscaling, Kubernetes or KEDA decides how many servers there are.
func TestAutoscaling(t *testing.T) {
	shared := []string{"--set", "sessionDatabase.existingSecret=db", "--set", "autoscaling.enabled=true"}
	r := render(t, append(shared, "--set", "autoscaling.maxReplicas=4")...)
	if r.deployment.Spec.Replicas != nil || r.budget == nil || r.scaled != nil || r.scaler == nil {
		t.Fatalf("%+v", r)
	}
	s := r.scaler.Spec
	if s.ScaleTargetRef.Name != r.deployment.Name || *s.MinReplicas != 2 || s.MaxReplicas != 4 || *s.Metrics[0].Resource.Target.AverageUtilization != 70 {
		t.Errorf("%+v", s)
	}
	keda := append(slices.Clone(shared), "--set", "autoscaling.keda.enabled=true")
	r = render(t, append(keda, "--set", "autoscaling.keda.prometheus=http://prometheus:9090")...)
	if r.scaler != nil || r.scaled == nil || r.scaled.Spec.ScaleTargetRef.Name != r.deployment.Name || len(r.scaled.Spec.Triggers) != 3 {
		t.Fatalf("%+v", r.scaled)
	}
	documented, err := os.ReadFile("../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", `max(parley_runs_queued{namespace="agents", pod=~"sky-parley-.+"})`, `sum(parley_runs_running{namespace="agents", pod=~"sky-parley-.+"})`} {
		query := r.scaled.Spec.Triggers[i].Metadata["query"]
		if query != want {
			t.Errorf("trigger %d asks %s", i, query)
		}
		if _, metric, ok := strings.Cut(query, "("); ok && !strings.Contains(string(documented), "`"+metric[:strings.Index(metric, "{")]+"`") {
			t.Errorf("there is no metric for %s", query)
		}
	}
	for _, refused := range [][]string{
		{"--set", "autoscaling.enabled=true"}, // no database
		keda,
		append(slices.Clone(shared), "--set", "autoscaling.minReplicas=5,autoscaling.maxReplicas=4"),
	} {
		if _, err := helm(t, append([]string{"template", "sky", "charts/parley", "--set", "image.repository=x"}, refused...)...); err == nil {
			t.Errorf("%v is rendered", refused)
		}
	}
}
