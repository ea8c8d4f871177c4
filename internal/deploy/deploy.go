// Package deploy puts an agent where others can reach it. It makes the source of
// a small image, of a static program and the agent's directory, and has gcloud,
// kubectl or docker do the rest: what they are called with is all that this
// package knows of them.
package deploy

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/parley-run/parley/session/agentengine"
)

// DefaultServiceName is what a deployed service is called unless it is given a
// name.
const DefaultServiceName = "parley-default-service-name"

// createdBy marks what this package made, as a label.
const createdBy = "parley"

// Env is the process that deploys.
type Env struct {
	Environ        []string // for the programs that are called
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Interactive means that a person can answer on Stdin.
	Interactive bool
	// Executable is the file of this program, and Version its version.
	Executable, Version string
	Now                 func() time.Time
}

// Options are those of every kind of deployment.
type Options struct {
	// AgentDir is the directory of the agent; it has the main agent file.
	AgentDir string
	// AppName is the name of the application; empty means that of AgentDir.
	AppName string
	// ServiceName is the name of what is deployed.
	ServiceName string
	// Port is where the server listens in its container.
	Port int
	// Access is AccessOIDC or AccessKeys if the server itself checks who calls.
	// Empty means that it does not: it is for the public, or for whom the
	// platform lets through.
	Access string
	// WithUI serves the developer UI, too.
	WithUI bool
	// AllowProcesses lets the agent start processes.
	AllowProcesses bool
	// Binary is a static Linux program for amd64 to deploy; empty means this
	// one or, if it is none, a build of its release.
	Binary string
	// TempFolder is for intermediate files. It must be empty or not be there.
	// Empty means one with the time in its name, among the temporary files of
	// the system.
	TempFolder string
	// DryRun shows what would be written and called, and does nothing.
	DryRun bool
}

// The ways in which a server checks who calls.
const (
	AccessOIDC = "oidc"
	AccessKeys = "keys"
)

// What such servers do not start without. It is not looked for here: variables
// may be in files and secrets, or be there since an earlier deployment.
const (
	needsOIDC = "The server checks identity tokens, for which it needs the variables PARLEY_OIDC_ISSUER and PARLEY_OIDC_AUDIENCE"
	needsKeys = "The server checks API keys, for which it needs a database: that of the sessions, or the variable PARLEY_KEYS_DB_URL"
)

// fixed are variables that would change nothing, since the image has them as
// arguments of the server.
var fixed = regexp.MustCompile(`\bPARLEY_(ACCESS|HOST|PORT|AGENT_DIR)\b`)

// checkVariables refuses arguments for another program with such a variable.
// To believe that it counts could leave a server open.
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

// Cloud says where in Google Cloud.
type Cloud struct {
	Project, Region string
	// AgentEngineID is an engine of Google Cloud to keep sessions in: its number,
	// if it is in Project and Region, or its full name. Empty means none.
	AgentEngineID string
	// Verbosity is how much gcloud says.
	Verbosity string
}

// UsageError is a deployment that was refused because of what was asked for.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

func usage(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// What others accept as names. Values that match can also stand in a file or on
// a command line as they are.
var (
	projectPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.:-]{0,127}$`)
	regionPattern  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	labelPattern   = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)
)

func (o *Options) checkServiceName(longest int) error {
	if !labelPattern.MatchString(o.ServiceName) || len(o.ServiceName) > longest {
		return usage("--service_name: %q cannot be the name of a service: use at most %d small letters, digits and dashes, and begin with a letter", o.ServiceName, longest)
	}
	return nil
}

// check refuses what is missing, all of it at once, or cannot be. others are
// further flags that must be given.
func (c *Cloud) check(others ...flag) error {
	var missing []string
	for _, one := range append([]flag{{"--project", c.Project}, {"--region", c.Region}}, others...) {
		if one.value == "" {
			missing = append(missing, one.name)
		}
	}
	switch {
	case len(missing) > 0:
		return usage("%s must be given", strings.Join(missing, " and "))
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

// sessions is the URL of the engine that keeps sessions, empty if there is none.
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

// variables let agents find hosted models with the identity of the service.
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
	// Byte by byte: what comes after the line is for others to read.
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
