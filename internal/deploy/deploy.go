// Package deploy deploys an agent. It creates the source of a small image, with a static program and the agent's
// directory, and runs gcloud, kubectl, docker, aws or az for the rest.
package deploy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/parley-run/parley/session/agentengine"
)

// DefaultServiceName is the default name of a deployed service.
const DefaultServiceName = "parley-default-service-name"

// createdBy is the value of the label on everything that this package creates.
const createdBy = "parley"

// Env is the environment of the deploying process.
type Env struct {
	Environ        []string // for the programs that are run
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Interactive means that a person can answer on Stdin.
	Interactive bool
	// Styled means that Stdout shows styles.
	Styled bool
	// Executable is the file of this program, and Version its version.
	Executable, Version string
	Now                 func() time.Time
	// Transport sends the requests that check a server; nil means without a proxy, as
	// the server is on this machine.
	Transport http.RoundTripper
}

// Options are the options of every kind of deployment.
type Options struct {
	// AgentDir is the directory of the agent with its main file.
	AgentDir string
	// AppName is the name of the application; empty means that of AgentDir.
	AppName string
	// ServiceName is the name of what is deployed.
	ServiceName string
	// Port is the port of the server in its container.
	Port int
	// Access is AccessOIDC or AccessKeys if the server itself authenticates callers. Empty means that it does not: it
	// is public, or the platform authenticates them.
	Access string
	// WithUI also serves the developer UI.
	WithUI bool
	// AllowProcesses lets the agent start processes.
	AllowProcesses bool
	// Binary is a static Linux program to deploy, for the architecture of the image. If empty, this program is deployed or, if that is not
	// possible, a build of its release.
	Binary string
	// TempFolder is for intermediate files. It must be empty or not exist. Empty means a new directory in the temporary
	// directory of the system.
	TempFolder string
	// DryRun shows what would be written and run, and does nothing.
	DryRun bool

	arch string // of the image; empty means amd64
}

// The ways in which a server authenticates callers.
const (
	AccessOIDC = "oidc"
	AccessKeys = "keys"
)

// Settings without which such servers do not start. They are not checked here: they may be in files and secrets, or
// exist from an earlier deployment.
const (
	needsOIDC = "The server checks identity tokens, for which it needs the variables PARLEY_OIDC_ISSUER and PARLEY_OIDC_AUDIENCE"
	needsKeys = "The server checks API keys, for which it needs a database: that of the sessions, or the variable PARLEY_KEYS_DB_URL"
)

// fixed matches variables without effect, because the image sets them as arguments of the server.
var fixed = regexp.MustCompile(`\bPARLEY_(ACCESS|HOST|PORT|AGENT_DIR)\b`)

// checkVariables refuses arguments for another program with such a variable. A user who relies on it could leave a
// server open.
func checkVariables(args []string) error {
	switch name := fixed.FindString(strings.Join(args, "\n")); name {
	case "":
		return nil
	case "PARLEY_ACCESS":
		return usage("PARLEY_ACCESS after -- would change nothing: use --access oidc or --access keys, before --")
	case "PARLEY_PORT":
		return usage("PARLEY_PORT after -- would change nothing: use --port, before --")
	default:
		return usage("%s after -- would change nothing: it is set by parley", name)
	}
}

// Cloud is a location in Google Cloud.
type Cloud struct {
	Project, Region string
	// AgentEngineID is an Agent Engine for sessions: its number, if it is in Project and Region, or its full name.
	// Empty means none.
	AgentEngineID string
	// Verbosity is the verbosity of gcloud.
	Verbosity string
}

// UsageError means that a deployment was refused because of its options.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

func usage(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// Valid names. Values that match need no quoting in a file or on a command line.
var (
	projectPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.:-]{0,127}$`)
	regionPattern  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	labelPattern   = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)
)

func (o *Options) checkServiceName(longest int) error {
	if !labelPattern.MatchString(o.ServiceName) || len(o.ServiceName) > longest {
		return usage("--service_name: %q cannot be the name of a service: use at most %d lower-case letters, digits and dashes, and begin with a letter", o.ServiceName, longest)
	}
	return nil
}

// check returns one error for all missing and invalid options. others are further required
// flags.
func (c *Cloud) check(others ...flag) error {
	if err := required(append([]flag{{"--project", c.Project}, {"--region", c.Region}}, others...)...); err != nil {
		return err
	}
	switch {
	case !projectPattern.MatchString(c.Project):
		return usage("--project: %q cannot be a project", c.Project)
	case !regionPattern.MatchString(c.Region):
		return usage("--region: %q cannot be a region", c.Region)
	}
	if _, err := c.sessions(); err != nil {
		return usage("--agent_engine_id: %v", err)
	}
	return nil
}

// sessions returns the URL of the Agent Engine, or "".
func (c *Cloud) sessions() (string, error) {
	if c.AgentEngineID == "" {
		return "", nil
	}
	name, err := agentengine.Resource(c.AgentEngineID, c.Project, c.Region)
	if err != nil {
		return "", err
	}
	return agentengine.Scheme + "://" + name, nil
}

type flag struct{ name, value string }

// required returns one error for all flags without a value.
func required(flags ...flag) error {
	var missing []string
	for _, one := range flags {
		if one.value == "" {
			missing = append(missing, one.name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return usage("%s must be given", strings.Join(missing, " and "))
}

// variables configures agents to call hosted models with the identity of the
// service.
func (c *Cloud) variables() []flag {
	return []flag{
		{"GOOGLE_CLOUD_PROJECT", c.Project},
		{"GOOGLE_CLOUD_LOCATION", c.Region},
		{"GOOGLE_GENAI_USE_VERTEXAI", "true"},
	}
}

// ask asks a yes-or-no question. No answer means no, and so does a missing terminal.
func (e *Env) ask(question string) (bool, error) {
	fmt.Fprintf(e.Stdout, "%s (y/N)? ", question)
	if !e.Interactive {
		fmt.Fprintln(e.Stdout, "No: there is no terminal to ask on.")
		return false, nil
	}
	// Byte by byte: programs that are run later read the rest.
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := e.Stdin.Read(one)
		if n == 1 && one[0] != '\n' {
			line = append(line, one[0])
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("read the answer: %w", err)
		}
		if n == 1 || err != nil {
			if err != nil {
				fmt.Fprintln(e.Stdout)
			}
			break
		}
	}
	answer := strings.ToLower(strings.TrimSpace(string(line)))
	return answer == "y" || answer == "yes", nil
}
