package deploy

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"pgregory.net/rapid"
	strict "sigs.k8s.io/yaml"
)

// cluster is what Kubernetes reads from manifests, strictly: a member that it
// does not know is an error.
type cluster struct {
	accounts    []corev1.ServiceAccount
	deployments []appsv1.Deployment
	services    []corev1.Service
	secrets     []corev1.Secret
}

func read(t *testing.T, text string) *cluster {
	t.Helper()
	c := &cluster{}
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return c
		}
		if err != nil {
			t.Fatal(err)
		}
		var kind struct{ Kind string }
		if err := strict.Unmarshal(document, &kind); err != nil {
			t.Fatal(err)
		}
		switch kind.Kind {
		case "ServiceAccount":
			c.accounts = append(c.accounts, decode[corev1.ServiceAccount](t, document))
		case "Deployment":
			c.deployments = append(c.deployments, decode[appsv1.Deployment](t, document))
		case "Service":
			c.services = append(c.services, decode[corev1.Service](t, document))
		case "Secret":
			c.secrets = append(c.secrets, decode[corev1.Secret](t, document))
		default:
			t.Fatalf("an object of the kind %q:\n%s", kind.Kind, document)
		}
	}
}

func decode[T any](t *testing.T, document []byte) (into T) {
	t.Helper()
	if err := strict.UnmarshalStrict(document, &into); err != nil {
		t.Fatalf("%v:\n%s", err, document)
	}
	return into
}

func gke() *GKE {
	return &GKE{
		Options: Options{ServiceName: "sky", Port: 8080}, Cloud: Cloud{Project: "p1", Region: "r1"},
		Namespace: "agents", ServiceType: LoadBalancer, Replicas: 3, SessionDBURL: "postgres://u:p@h/d",
	}
}

func TestManifests(t *testing.T) {
	g := gke()
	text, err := g.manifests("r1-docker.pkg.dev/p1/parley/sky:1", "weather", true)
	if err != nil {
		t.Fatal(err)
	}
	c := read(t, text)
	if len(c.accounts) != 1 || len(c.deployments) != 1 || len(c.services) != 1 || len(c.secrets) != 0 {
		t.Fatalf("%+v", c)
	}
	for _, meta := range []string{c.accounts[0].Name + c.accounts[0].Namespace, c.deployments[0].Name + c.deployments[0].Namespace, c.services[0].Name + c.services[0].Namespace} {
		if meta != "skyagents" {
			t.Errorf("name and namespace are %q", meta)
		}
	}
	d := c.deployments[0].Spec
	if *d.Replicas != 3 || d.Template.Spec.ServiceAccountName != "sky" || !*d.Template.Spec.SecurityContext.RunAsNonRoot || len(d.Template.Spec.Containers) != 1 {
		t.Errorf("%+v", d)
	}
	for k, v := range d.Selector.MatchLabels {
		if d.Template.Labels[k] != v || c.services[0].Spec.Selector[k] != v {
			t.Errorf("the label %s selects nothing", k)
		}
	}
	server := d.Template.Spec.Containers[0]
	if server.Image != "r1-docker.pkg.dev/p1/parley/sky:1" || server.Ports[0].ContainerPort != 8080 {
		t.Errorf("%+v", server)
	}
	if stop := server.Lifecycle.PreStop; stop.Sleep == nil || stop.Sleep.Seconds != 5 {
		t.Errorf("%+v", stop)
	}
	for path, probe := range map[string]*corev1.Probe{"/health": server.LivenessProbe, "/readyz": server.ReadinessProbe} {
		if probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != server.Ports[0].Name {
			t.Errorf("%s: %+v", path, probe.HTTPGet)
		}
	}
	if server.Resources.Requests.Memory().String() != "256Mi" || server.Resources.Limits.Memory().String() != "1Gi" {
		t.Errorf("%+v", server.Resources)
	}
	s := c.services[0].Spec
	if s.Type != corev1.ServiceTypeLoadBalancer || s.Ports[0].Port != 80 || s.Ports[0].TargetPort.StrVal != server.Ports[0].Name || len(c.services[0].Annotations) != 0 {
		t.Errorf("%+v", c.services[0])
	}

	secret, shown, err := g.secret()
	if err != nil {
		t.Fatal(err)
	}
	held := read(t, secret).secrets[0]
	ref := server.Env[0].ValueFrom.SecretKeyRef
	if server.Env[0].Name != "PARLEY_SESSION_DB_URL" || ref.Name != held.Name || *ref.Optional || held.StringData[ref.Key] != g.SessionDBURL || held.Namespace != "agents" {
		t.Errorf("%+v refers to %+v", server.Env[0], held)
	}
	if server.Env[1].Name != "PARLEY_PEER_ADDRESS" || server.Env[1].ValueFrom.FieldRef.FieldPath != "status.podIP" {
		t.Errorf("%+v", server.Env[1])
	}
	if strings.Contains(shown, "u:p") || read(t, shown).secrets[0].Name != held.Name {
		t.Errorf("shown: %s", shown)
	}
}

// Who was not allowed to call cannot reach the server.
func TestManifestsOfAPrivateService(t *testing.T) {
	for _, kind := range []string{LoadBalancer, ClusterIP} {
		g := gke()
		g.ServiceType, g.SessionDBURL = kind, ""
		text, err := g.manifests("i", "weather", false)
		if err != nil {
			t.Fatal(err)
		}
		c := read(t, text)
		internal := c.services[0].Annotations["networking.gke.io/load-balancer-type"] == "Internal"
		if string(c.services[0].Spec.Type) != kind || internal != (kind == LoadBalancer) {
			t.Errorf("%s: %+v", kind, c.services[0])
		}
		if ref := c.deployments[0].Spec.Template.Spec.Containers[0].Env[0].ValueFrom.SecretKeyRef; !*ref.Optional {
			t.Errorf("%+v must be optional, as there may be none", ref)
		}
	}
}

// awkward are texts that mean something to YAML, shells or Dockerfiles, and any
// others.
func awkward() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]{0,12}`), rapid.SampledFrom([]string{
		"weather", "yes", "null", "123", "1e3", "0x1F", "~", "a: b", "a #b", "- a", "'", `"`, `\\`, "a\nkind: Pod", "---\nkind: Pod", "{{x}}", "*a", "&a", "!t",
		"|", ">", "%", "@", "`", "a\tb", " a ", "\u2028", "=", "<<", "2020-01-01", ".inf", "on", "?", "-", "---", "...", "a:", ":", "\x00", "\x7f", "\ufeff", "\xff",
		"$HOME", "${x:-y}", ",", "\u0080", `"]\nRUN x`, `", "--access", "public`, "\\\n",
	}))
}

// Free text stays what it is: the value of one member.
func TestManifestsQuote(t *testing.T) {
	plain, err := gke().manifests("i", "weather", true)
	if err != nil {
		t.Fatal(err)
	}
	want := read(t, plain)
	rapid.Check(t, func(rt *rapid.T) {
		app := awkward().Draw(rt, "app")
		if checkAppName(app) != nil {
			return
		}
		text, err := gke().manifests("i", app, true)
		if err != nil {
			rt.Fatal(err)
		}
		got := read(t, text)
		if name := got.deployments[0].Spec.Template.Annotations["parley.run/app"]; name != app {
			rt.Errorf("the application %q became %q:\n%s", app, name, text)
		}
		got.deployments[0].Spec.Template.Annotations = want.deployments[0].Spec.Template.Annotations
		if diff := cmp.Diff(want.deployments, got.deployments); diff != "" {
			rt.Errorf("%q changes more (-want +got):\n%s", app, diff)
		}
	})
}

func TestSecretQuotes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := gke()
		g.SessionDBURL = "postgres://u:p@h/" + awkward().Draw(rt, "database")
		if checkURL(g.SessionDBURL) != nil {
			return
		}
		text, _, err := g.secret()
		if err != nil {
			rt.Fatal(err)
		}
		if c := read(t, text); len(c.secrets) != 1 || c.secrets[0].StringData["url"] != g.SessionDBURL {
			rt.Errorf("%q became:\n%s", g.SessionDBURL, text)
		}
	})
}

// What is written is what Kubernetes reads, whatever the texts are.
func TestYAML(t *testing.T) {
	words := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z0-9./:# -]{0,8}`), rapid.SampledFrom([]string{
		"", "yes", "No", "null", "~", "1", "1e3", "0x1f", "12:30", "- a", "a: b", "a #b", "'", "\"", "\\", "\u2028", "\x7f", "a\nb", "é", "*a", "&a", "!a", "%a", "@a", "`a", "a.", ".inf",
	}))
	value := rapid.Deferred(func() *rapid.Generator[any] { return rapid.Just[any]("leaf") })
	for range 3 {
		inner := value
		value = rapid.OneOf(
			rapid.Map(words, func(s string) any { return s }),
			rapid.Map(rapid.IntRange(-5, 1<<40), func(n int) any { return float64(n) }),
			rapid.Map(rapid.Bool(), func(b bool) any { return b }),
			rapid.Map(rapid.SliceOfN(inner, 0, 3), func(list []any) any { return list }),
			rapid.Map(rapid.MapOfN(words, inner, 0, 3), func(m map[string]any) any { return m }),
		)
	}
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]any{"a": value.Draw(t, "a"), "b": []any{value.Draw(t, "b")}}
		text, err := toYAML(want)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := strict.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-want +got:\n%s\n%s", diff, text)
		}
	})
}
