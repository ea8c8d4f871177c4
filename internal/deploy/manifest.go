package deploy

import (
	"strings"
)

// The parts of the Kubernetes API that a deployment needs. They are encoded, never decoded; tests decode them with the
// API's own types.
type (
	object struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   metadata          `json:"metadata"`
		Automount  *bool             `json:"automountServiceAccountToken,omitempty"`
		StringData map[string]string `json:"stringData,omitempty"`
		Spec       any               `json:"spec,omitempty"`
	}
	metadata struct {
		Name        string            `json:"name,omitempty"`
		Namespace   string            `json:"namespace,omitempty"`
		Labels      map[string]string `json:"labels,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	deploymentSpec struct {
		Replicas int         `json:"replicas"`
		Selector selector    `json:"selector"`
		Template podTemplate `json:"template"`
	}
	selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	}
	podTemplate struct {
		Metadata metadata `json:"metadata"`
		Spec     podSpec  `json:"spec"`
	}
	podSpec struct {
		ServiceAccountName            string            `json:"serviceAccountName"`
		TerminationGracePeriodSeconds int               `json:"terminationGracePeriodSeconds"`
		SecurityContext               podSecurity       `json:"securityContext"`
		NodeSelector                  map[string]string `json:"nodeSelector"`
		Containers                    []container       `json:"containers"`
		Volumes                       []volume          `json:"volumes"`
	}
	podSecurity struct {
		RunAsNonRoot   bool    `json:"runAsNonRoot"`
		RunAsUser      int     `json:"runAsUser"`
		SeccompProfile seccomp `json:"seccompProfile"`
	}
	seccomp struct {
		Type string `json:"type"`
	}
	container struct {
		Name            string            `json:"name"`
		Image           string            `json:"image"`
		Ports           []containerPort   `json:"ports"`
		EnvFrom         []envFrom         `json:"envFrom"`
		Env             []envVar          `json:"env"`
		StartupProbe    probe             `json:"startupProbe"`
		ReadinessProbe  probe             `json:"readinessProbe"`
		LivenessProbe   probe             `json:"livenessProbe"`
		Lifecycle       lifecycle         `json:"lifecycle"`
		Resources       resources         `json:"resources"`
		SecurityContext containerSecurity `json:"securityContext"`
		VolumeMounts    []volumeMount     `json:"volumeMounts"`
	}
	containerPort struct {
		Name          string `json:"name"`
		ContainerPort int    `json:"containerPort"`
	}
	envFrom struct {
		SecretRef secretRef `json:"secretRef"`
	}
	secretRef struct {
		Name     string `json:"name"`
		Key      string `json:"key,omitempty"`
		Optional bool   `json:"optional"`
	}
	envVar struct {
		Name      string     `json:"name"`
		Value     string     `json:"value,omitempty"`
		ValueFrom *valueFrom `json:"valueFrom,omitempty"`
	}
	valueFrom struct {
		SecretKeyRef *secretRef `json:"secretKeyRef,omitempty"`
		FieldRef     *fieldRef  `json:"fieldRef,omitempty"`
	}
	fieldRef struct {
		FieldPath string `json:"fieldPath"`
	}
	probe struct {
		HTTPGet          httpGet `json:"httpGet"`
		PeriodSeconds    int     `json:"periodSeconds"`
		TimeoutSeconds   int     `json:"timeoutSeconds"`
		FailureThreshold int     `json:"failureThreshold"`
	}
	httpGet struct {
		Path string `json:"path"`
		Port string `json:"port"`
	}
	lifecycle struct {
		PreStop preStop `json:"preStop"`
	}
	preStop struct {
		Sleep sleep `json:"sleep"`
	}
	sleep struct {
		Seconds int `json:"seconds"`
	}
	resources struct {
		Requests map[string]string `json:"requests"`
		Limits   map[string]string `json:"limits"`
	}
	containerSecurity struct {
		AllowPrivilegeEscalation bool         `json:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool         `json:"readOnlyRootFilesystem"`
		Capabilities             capabilities `json:"capabilities"`
	}
	capabilities struct {
		Drop []string `json:"drop"`
	}
	volumeMount struct {
		Name      string `json:"name"`
		MountPath string `json:"mountPath"`
	}
	volume struct {
		Name     string   `json:"name"`
		EmptyDir emptyDir `json:"emptyDir"`
	}
	emptyDir struct {
		SizeLimit string `json:"sizeLimit"`
	}
	serviceSpec struct {
		Type     string            `json:"type"`
		Selector map[string]string `json:"selector"`
		Ports    []servicePort     `json:"ports"`
	}
	servicePort struct {
		Name       string `json:"name"`
		Port       int    `json:"port"`
		TargetPort string `json:"targetPort"`
	}
)

// imageUser is the id of the user in the base image.
const imageUser = 65532

// portName is the name of the server's port in manifests.
const portName = "http"

// manifests returns the manifests without the Secret.
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
			// The name of an application may contain any character, so it cannot be a label.
			Metadata: metadata{Labels: g.labels(), Annotations: map[string]string{"parley.run/app": app}},
			Spec: podSpec{
				ServiceAccountName: g.ServiceName,
				// A server that shuts down gives its runs 10 seconds to end.
				TerminationGracePeriodSeconds: 30,
				SecurityContext:               podSecurity{RunAsNonRoot: true, RunAsUser: imageUser, SeccompProfile: seccomp{"RuntimeDefault"}},
				NodeSelector:                  map[string]string{"kubernetes.io/arch": "amd64"},
				Containers: []container{{
					Name:  createdBy,
					Image: image,
					Ports: []containerPort{{portName, g.Port}},
					// What the agent needs: keys of models, and the like.
					EnvFrom: []envFrom{{secretRef{Name: g.envSecret(), Optional: true}}},
					Env: []envVar{
						// Without the flag, the Secret of an earlier deployment is kept.
						{Name: "PARLEY_SESSION_DB_URL", ValueFrom: &valueFrom{SecretKeyRef: &secretRef{Name: g.sessionSecret(), Key: "url", Optional: g.SessionDBURL == ""}}},
						// With a database, servers follow runs on each other.
						{Name: "PARLEY_PEER_ADDRESS", ValueFrom: &valueFrom{FieldRef: &fieldRef{"status.podIP"}}},
						{Name: "XDG_CACHE_HOME", Value: "/tmp"},
					},
					StartupProbe:   probes("/health", 24),
					ReadinessProbe: probes("/readyz", 2),
					LivenessProbe:  probes("/health", 6),
					// A server that shuts down accepts no new connections, so it is stopped after load balancers have
					// been notified.
					Lifecycle: lifecycle{preStop{sleep{5}}},
					Resources: resources{
						Requests: map[string]string{"cpu": "250m", "memory": "256Mi"},
						Limits:   map[string]string{"memory": "1Gi"},
					},
					SecurityContext: containerSecurity{ReadOnlyRootFilesystem: true, Capabilities: capabilities{[]string{"ALL"}}},
					VolumeMounts:    []volumeMount{{"tmp", "/tmp"}},
				}},
				// Large uploads, and compiled applications.
				Volumes: []volume{{Name: "tmp", EmptyDir: emptyDir{"10Gi"}}},
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
		text, err := toYAML(one)
		if err != nil {
			return "", err
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "---\n"), nil
}
