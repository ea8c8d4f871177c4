package parley_test

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
)

// Agents see of the environment what the server does not use for itself.
func TestAgentEnviron(t *testing.T) {
	environ := []string{
		"PATH=/bin", "HOME=/root", "WEATHER_KEY=k", "GOOGLE_API_KEY=k", "GEMINI_API_KEY=k", "OPENAI_API_KEY=k", "ANTHROPIC_API_KEY=k",
		"GOOGLE_APPLICATION_CREDENTIALS=/k.json", "GOOGLE_CLOUD_PROJECT=p", "NO_PROXY=localhost", "HTTP_PROXY=http://proxy:3128",
		"PARLEY_CREDENTIAL_KEY=k", "Parley_Session_DB_URL=u", "PARLEY_OIDC_CLIENT_SECRET=s", "OTEL_EXPORTER_OTLP_HEADERS=authorization=t",
		"HTTPS_PROXY=http://u:pw@proxy:3128", "all_proxy=u:pw@proxy:3128",
		"PGPASSWORD=pw", "PGPASSFILE=/p", "PGSSLKEY=/k", "PGSSLPASSWORD=pw", "PGSERVICEFILE=/s", "PGUSER=u",
		"AWS_SECRET_ACCESS_KEY=k", "AWS_SESSION_TOKEN=t", "AWS_PROFILE=p",
		"DATABASE_URL=postgres://u:pw@db/x", "KEYS_URL=postgres://u:pw@db/keys", "SEAL=c2VhbA==", "SSO=sso-secret", "EMPTY=",
	}
	always := []string{"PARLEY_CREDENTIAL_KEY", "Parley_Session_DB_URL", "PARLEY_OIDC_CLIENT_SECRET", "OTEL_EXPORTER_OTLP_HEADERS", "HTTPS_PROXY", "all_proxy"}
	pg := []string{"PGPASSWORD", "PGPASSFILE", "PGSSLKEY", "PGSSLPASSWORD", "PGSERVICEFILE", "PGUSER"}
	aws := []string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"}
	for _, test := range []struct {
		name string
		cfg  parley.Config
		less []string // beside those that are never seen
	}{
		{"memory", parley.Config{}, nil},
		{"sqlite", parley.Config{Sessions: parley.SessionConfig{URL: "sqlite://x.db"}, Artifacts: parley.ArtifactConfig{URL: "gs://bucket"}, Logins: parley.LoginConfig{KMS: "gcp-kms://k"}}, nil},
		{"postgres", parley.Config{Sessions: parley.SessionConfig{URL: "postgres://u:pw@db/x"}}, append(pg, "DATABASE_URL")},
		{"postgresql", parley.Config{Sessions: parley.SessionConfig{URL: "postgresql://db/x"}}, pg},
		{"keys", parley.Config{Sessions: parley.SessionConfig{URL: "sqlite://x.db"}, Access: parley.AccessConfig{KeysURL: "postgres://u:pw@db/keys"}}, append(pg, "KEYS_URL")},
		{"s3", parley.Config{Artifacts: parley.ArtifactConfig{URL: "S3://bucket"}}, aws},
		{"kms", parley.Config{Logins: parley.LoginConfig{KMS: "aws-kms://arn:aws:kms:x"}}, aws},
		{"values", parley.Config{Logins: parley.LoginConfig{Key: "c2VhbA=="}, Access: parley.AccessConfig{OIDC: parley.OIDC{ClientSecret: "sso-secret"}}}, []string{"SEAL", "SSO"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var want []string
			for _, one := range environ {
				name, _, _ := strings.Cut(one, "=")
				if !slices.Contains(always, name) && !slices.Contains(test.less, name) {
					want = append(want, one)
				}
			}
			if diff := cmp.Diff(want, test.cfg.AgentEnviron(environ)); diff != "" {
				t.Errorf("agents see (-want +got):\n%s", diff)
			}
		})
	}
}

// What the server is set up with, keys and databases with it, is not for the
// code of agents.
func TestAgentsDoNotSeeTheServersSettings(t *testing.T) {
	t.Setenv("PARLEY_CREDENTIAL_KEY", "hunter2")
	t.Setenv("Parley_Session_DB_URL", "postgres://u:hunter2@db/x")
	t.Setenv("WEATHER_KEY", "sunny")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(`
		import { LlmAgent } from '@google/adk';
		console.log('sees', ...Object.keys(process.env).filter((name) => /parley|weather/i.test(name)));
		export const rootAgent = new LlmAgent({ name: 'root', model: 'gemini-2.5-flash' });`), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &testkit.Buffer{}
	srv, err := parley.Open(t.Context(), parley.Config{Scripts: parley.ScriptConfig{Dir: dir, AppName: "app"}, Offline: true, Stdout: io.Discard, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	if text := log.String(); !strings.Contains(text, `"sees WEATHER_KEY"`) {
		t.Errorf("the agent sees %s", text)
	}
}
