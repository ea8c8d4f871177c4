package deploy

import (
	"strings"

	"github.com/goccy/go-yaml"
)

// The parts of the Kubernetes API that a deployment needs. They are written,
// never read; tests read them with the API's own types.
type (
	object struct {
		APIVersion string            `yaml:"apiVersion"`
		Kind       string            `yaml:"kind"`
		Metadata   metadata          `yaml:"metadata"`
		Automount  *bool             `yaml:"automountServiceAccountToken,omitempty"`
		StringData map[string]string `yaml:"stringData,omitempty"`
		Spec       any               `yaml:"spec,omitempty"`
	}
	metadata struct {
		Name        string            `yaml:"name,omitempty"`
		Namespace   string            `yaml:"namespace,omitempty"`
		Labels      map[string]string `yaml:"labels,omitempty"`
		Annotations map[string]string `yaml:"annotations,omitempty"`
	}
	deploymentSpec struct {
		Replicas int         `yaml:"replicas"`
		Selector selector    `yaml:"selector"`
		Template podTemplate `yaml:"template"`
	}
	selector struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	}
	podTemplate struct {
		Metadata metadata `yaml:"metadata"`
		Spec     podSpec  `yaml:"spec"`
	}
	podSpec struct {
		ServiceAccountName            string            `yaml:"serviceAccountName"`
		TerminationGracePeriodSeconds int               `yaml:"terminationGracePeriodSeconds"`
		SecurityContext               podSecurity       `yaml:"securityContext"`
		NodeSelector                  map[string]string `yaml:"nodeSelector"`
		Containers                    []container       `yaml:"containers"`
		Volumes                       []volume          `yaml:"volumes"`
	}
	podSecurity struct {
		RunAsNonRoot   bool    `yaml:"runAsNonRoot"`
		RunAsUser      int     `yaml:"runAsUser"`
		SeccompProfile seccomp `yaml:"seccompProfile"`
	}
	seccomp struct {
		Type string `yaml:"type"`
	}
	container struct {
		Name            string            `yaml:"name"`
		Image           string            `yaml:"image"`
		Ports           []containerPort   `yaml:"ports"`
		EnvFrom         []envFrom         `yaml:"envFrom"`
		Env             []envVar          `yaml:"env"`
		StartupProbe    probe             `yaml:"startupProbe"`
		ReadinessProbe  probe             `yaml:"readinessProbe"`
		LivenessProbe   probe             `yaml:"livenessProbe"`
		Resources       resources         `yaml:"resources"`
		SecurityContext containerSecurity `yaml:"securityContext"`
		VolumeMounts    []volumeMount     `yaml:"volumeMounts"`
	}
	containerPort struct {
		Name          string `yaml:"name"`
		ContainerPort int    `yaml:"containerPort"`
	}
	envFrom struct {
		SecretRef secretRef `yaml:"secretRef"`
	}
	secretRef struct {
		Name     string `yaml:"name"`
		Key      string `yaml:"key,omitempty"`
		Optional bool   `yaml:"optional"`
	}
	envVar struct {
		Name      string     `yaml:"name"`
		Value     string     `yaml:"value,omitempty"`
		ValueFrom *valueFrom `yaml:"valueFrom,omitempty"`
	}
	valueFrom struct {
		SecretKeyRef secretRef `yaml:"secretKeyRef"`
	}
	probe struct {
		HTTPGet          httpGet `yaml:"httpGet"`
		PeriodSeconds    int     `yaml:"periodSeconds"`
		TimeoutSeconds   int     `yaml:"timeoutSeconds"`
		FailureThreshold int     `yaml:"failureThreshold"`
	}
	httpGet struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	}
	resources struct {
		Requests map[string]string `yaml:"requests"`
		Limits   map[string]string `yaml:"limits"`
	}
	containerSecurity struct {
		AllowPrivilegeEscalation bool         `yaml:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool         `yaml:"readOnlyRootFilesystem"`
		Capabilities             capabilities `yaml:"capabilities"`
	}
	capabilities struct {
		Drop []string `yaml:"drop"`
	}
	volumeMount struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
	}
	volume struct {
		Name     string   `yaml:"name"`
		EmptyDir struct{} `yaml:"emptyDir"`
	}
	serviceSpec struct {
		Type     string            `yaml:"type"`
		Selector map[string]string `yaml:"selector"`
		Ports    []servicePort     `yaml:"ports"`
	}
	servicePort struct {
		Name       string `yaml:"name"`
		Port       int    `yaml:"port"`
		TargetPort string `yaml:"targetPort"`
	}
)

// imageUser is the number of the user in the base image.
const imageUser = 65532

// portName is what the port of the server is called in manifests.
const portName = "http"

// manifests is what Kubernetes is told, without the Secret.
func (g *GKE) manifests(image, app string, public bool) (string, error) {
	off := false
	return encode(
		object{APIVersion: "v1", Kind: "ServiceAccount", Metadata: g.metadata(), Automount: &off},
		object{APIVersion: "apps/v1", Kind: "Deployment", Metadata: g.metadata(), Spec: g.deployment(image, app)},
		g.service(public),
	)
}

func (g *GKE) metadata() metadata {
	return metadata{Name: g.ServiceName, Namespace: g.Namespace, Labels: g.labels()}
}

func (g *GKE) labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": g.ServiceName, "app.kubernetes.io/managed-by": createdBy}
}

func (g *GKE) selector() map[string]string {
	return map[string]string{"app.kubernetes.io/name": g.ServiceName}
}

func (g *GKE) deployment(image, app string) deploymentSpec {
	probes := func(path string, failures int) probe {
		return probe{HTTPGet: httpGet{path, portName}, PeriodSeconds: 5, TimeoutSeconds: 3, FailureThreshold: failures}
	}
	return deploymentSpec{
		Replicas: g.Replicas,
		Selector: selector{g.selector()},
		Template: podTemplate{
			// The name of an application may be anything, so it is no label.
			Metadata: metadata{Labels: g.labels(), Annotations: map[string]string{"parley.run/app": app}},
			Spec: podSpec{
				ServiceAccountName: g.ServiceName,
				// A server that is told to stop lets its runs go on for 10 seconds.
				TerminationGracePeriodSeconds: 30,
				SecurityContext:               podSecurity{RunAsNonRoot: true, RunAsUser: imageUser, SeccompProfile: seccomp{"RuntimeDefault"}},
				NodeSelector:                  map[string]string{"kubernetes.io/arch": "amd64"},
				Containers: []container{{
					Name:  createdBy,
					Image: image,
					Ports: []containerPort{{portName, g.Port}},
					// Whatever the agent needs: keys of models, and the like.
					EnvFrom: []envFrom{{secretRef{Name: g.envSecret(), Optional: true}}},
					Env: []envVar{
						// Without the flag, what an earlier deployment said still holds.
						{Name: "PARLEY_SESSION_DB_URL", ValueFrom: &valueFrom{secretRef{Name: g.sessionSecret(), Key: "url", Optional: g.SessionDBURL == ""}}},
						{Name: "XDG_CACHE_HOME", Value: "/tmp"},
					},
					StartupProbe:   probes("/health", 24),
					ReadinessProbe: probes("/readyz", 2),
					LivenessProbe:  probes("/health", 6),
					Resources: resources{
						Requests: map[string]string{"cpu": "250m", "memory": "256Mi"},
						Limits:   map[string]string{"memory": "1Gi"},
					},
					SecurityContext: containerSecurity{ReadOnlyRootFilesystem: true, Capabilities: capabilities{[]string{"ALL"}}},
					VolumeMounts:    []volumeMount{{"tmp", "/tmp"}},
				}},
				Volumes: []volume{{Name: "tmp"}},
			},
		},
	}
}

func (g *GKE) service(public bool) object {
	o := object{APIVersion: "v1", Kind: "Service", Metadata: g.metadata(), Spec: serviceSpec{
		Type: g.ServiceType, Selector: g.selector(), Ports: []servicePort{{portName, 80, portName}},
	}}
	if g.ServiceType == LoadBalancer && !public {
		// Reachable from the network of the cluster only.
		o.Metadata.Annotations = map[string]string{"networking.gke.io/load-balancer-type": "Internal"}
	}
	return o
}

// secret holds the session database URL. shown is the same without it.
func (g *GKE) secret() (text, shown string, err error) {
	o := object{APIVersion: "v1", Kind: "Secret", Metadata: g.metadata(), StringData: map[string]string{"url": g.SessionDBURL}}
	o.Metadata.Name = g.sessionSecret()
	if text, err = encode(o); err != nil {
		return "", "", err
	}
	o.StringData["url"] = "(not shown)"
	shown, err = encode(o)
	return text, shown, err
}

func encode(objects ...object) (string, error) {
	var parts []string
	for _, one := range objects {
		text, err := yaml.MarshalWithOptions(one, yaml.IndentSequence(true))
		if err != nil {
			return "", err
		}
		parts = append(parts, string(text))
	}
	return strings.Join(parts, "---\n"), nil
}
