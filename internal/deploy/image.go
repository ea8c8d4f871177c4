package deploy

import (
	"cmp"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/parley-run/parley/internal/script/bundle"
)

const (
	// baseImage contains certificates, time zones and an unprivileged user, and no
	// shell.
	baseImage = "gcr.io/distroless/static-debian12:nonroot"
	// buildImage is the image that releases are built in.
	buildImage = "golang:1.26"
	// programPackage is the import path of the program.
	programPackage = "github.com/parley-run/parley/cmd/parley"
	// agentsDir is the directory of agents in an image.
	agentsDir = "agents"
)

// image describes the content of an image and the arguments of its server.
type image struct {
	// program is the file to copy; if empty, version is built.
	program, version string
	app, agentDir    string
	files            []agentFile
	leftOut          []string
	// hint says how the server gets variables, if the agent has a file of them, which
	// is left out. It is empty if the user has given some.
	hint string
	port int
	// arch is the architecture as Go names it.
	arch string
	// platform is the hosting platform that calls the server; empty for none.
	platform  string
	withUI    bool
	processes bool
	// access is how the server authenticates callers.
	access string
	// sessions is the URL of an engine that stores sessions, without secrets. If
	// empty, the environment of the server defines it.
	sessions  string
	variables []flag // of the environment
}

// image checks the content of the image, so that errors are reported before
// anything is asked or created. The caller sets who may call.
func (o *Options) image(env *Env, sessions string, variables []flag) (*image, error) {
	info, err := os.Stat(o.AgentDir)
	if err == nil && info.Mode().IsRegular() {
		return nil, usage("%s is a file: deploy the directory of an agent, with an index.ts (or app.ts, agent.ts)", o.AgentDir)
	}
	if err != nil || !info.IsDir() {
		return nil, usage("the agent directory %s does not exist", o.AgentDir)
	}
	main := bundle.MainFile(o.AgentDir)
	if main == "" {
		return nil, usage("the main agent file is missing: there is no index.ts (or app.ts, agent.ts) in %s", o.AgentDir)
	}
	im := &image{
		app: o.AppName, agentDir: o.AgentDir, port: o.Port, arch: cmp.Or(o.arch, "amd64"), withUI: o.WithUI, processes: o.AllowProcesses, sessions: sessions,
		variables: append([]flag{{"PARLEY_LOG_FORMAT", "json"}}, variables...),
	}
	if im.app == "" {
		resolved, err := filepath.Abs(o.AgentDir)
		if err != nil {
			return nil, err
		}
		if target, err := filepath.EvalSymlinks(resolved); err == nil {
			resolved = target // the server does the same
		}
		im.app = filepath.Base(resolved)
	}
	if err := checkAppName(im.app); err != nil {
		return nil, err
	}
	if o.Port < 1 || o.Port > 65535 {
		return nil, usage("--port: %d is not a port that a container can have", o.Port)
	}
	if im.files, im.leftOut, err = listAgent(o.AgentDir); err != nil {
		return nil, err
	}
	if !reaches(im.files, main) {
		return nil, usage("the main agent file %s would be left out: it is a link to a file that is not deployed. Put the file itself into %s", main, o.AgentDir)
	}
	if err := o.program(env, im); err != nil {
		return nil, err
	}
	return im, nil
}

// args returns the arguments of parley: what the deployment has decided, and no
// environment variable may change. They include the port, because Kubernetes sets
// PARLEY_PORT to another value if a service is called parley.
func (im *image) args() []string {
	args := []string{
		"api_server", "--agent_dir", path.Join("/", agentsDir, im.app),
		"--host", "0.0.0.0", "--port", strconv.Itoa(im.port), "--access", im.access,
	}
	if im.sessions != "" {
		args = append(args, "--session_db_url", im.sessions)
	}
	if im.withUI {
		args = append(args, "--with_ui")
	}
	if im.processes {
		args = append(args, "--allow_processes")
	}
	if im.platform != "" {
		args = append(args, "--platforms", im.platform)
	}
	return args
}

// checkAppName rejects names that are not valid directory names on every system.
// All other characters are quoted where the name is used.
func checkAppName(name string) error {
	bad := name == "" || name == "." || name == ".." || len(name) > 128 || strings.ContainsAny(name, `/\`) ||
		strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar })
	if bad {
		return usage("%q cannot be the name of an application: set another one with --app_name", name)
	}
	return nil
}

var (
	version = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
	// pseudoVersion matches the version of a commit without a tag, which may not be
	// published.
	pseudoVersion = regexp.MustCompile(`[-.][0-9]{14}-[0-9a-f]{12}$`)
)

// released reports whether a version can be downloaded, unlike a build of a working
// directory.
func released(name string) bool { return version.MatchString(name) && !pseudoVersion.MatchString(name) }

// program returns the program for the image.
func (o *Options) program(env *Env, im *image) error {
	if o.Binary != "" {
		if err := checkProgram(o.Binary, im.arch); err != nil {
			return usage("--binary: %s %v", o.Binary, err)
		}
		im.program = o.Binary
		return nil
	}
	err := checkProgram(env.Executable, im.arch)
	switch {
	case err == nil:
		im.program = env.Executable
	case released(env.Version):
		im.version = env.Version
	default:
		return usage("this program %v, and it is not a release that could be built: give one with --binary, made with "+
			"CGO_ENABLED=0 GOOS=linux GOARCH=%s go build %s", err, im.arch, programPackage)
	}
	return nil
}

// machines are the architectures of images.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// checkProgram checks that a program can run in an image without other files.
func checkProgram(name, arch string) error {
	file, err := elf.Open(name)
	if err != nil {
		return fmt.Errorf("is not a Linux program")
	}
	defer file.Close()
	if file.Machine != machines[arch] || file.Type != elf.ET_EXEC && file.Type != elf.ET_DYN ||
		file.OSABI != elf.ELFOSABI_NONE && file.OSABI != elf.ELFOSABI_LINUX {
		return fmt.Errorf("is not a Linux program for %s", arch)
	}
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			return fmt.Errorf("is not static: it needs libraries that the image does not have")
		}
	}
	return nil
}

// dockerfile returns the Dockerfile. It contains no free text: names of files are
// fixed, arguments are JSON, and variables are quoted.
func (im *image) dockerfile() string {
	var b strings.Builder
	b.WriteString("# Made by parley deploy.\n")
	if im.program == "" {
		from, environ, made := buildImage, "CGO_ENABLED=0", ""
		if im.arch != "amd64" { // built where the image is built, and installed in a directory for the architecture unless that is the same
			from, environ = "--platform=$BUILDPLATFORM "+buildImage, environ+" GOARCH="+im.arch
			made = fmt.Sprintf(" && if [ -d /go/bin/linux_%[1]s ]; then mv /go/bin/linux_%[1]s/parley /go/bin/parley; fi", im.arch)
		}
		fmt.Fprintf(&b, "FROM %s AS build\nRUN %s go install -trimpath -tags grpcnotrace -ldflags=\"-s -w\" %s@%s%s\n\n", from, environ, programPackage, im.version, made)
	}
	fmt.Fprintf(&b, "FROM %s\n", baseImage)
	if im.program == "" {
		b.WriteString("COPY --from=build /go/bin/parley /parley\n")
	} else {
		b.WriteString("COPY parley /parley\n")
	}
	fmt.Fprintf(&b, "COPY %s/ /%s/\n", agentsDir, agentsDir)
	for _, one := range im.variables {
		fmt.Fprintf(&b, "ENV %s=%s\n", one.name, dockerQuote(one.value))
	}
	fmt.Fprintf(&b, "EXPOSE %d\nENTRYPOINT [\"/parley\"]\nCMD %s\n", im.port, jsonList(im.args()))
	return b.String()
}

var dockerEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`)

// dockerQuote quotes the value of a variable, which has no line breaks.
func dockerQuote(value string) string { return `"` + dockerEscapes.Replace(value) + `"` }

// jsonList returns arguments in the exec form of an instruction, which is JSON
// without substitution.
func jsonList(list []string) string {
	words := make([]string, len(list))
	for i, word := range list {
		b, err := json.Marshal(word)
		if err != nil {
			panic(err) // strings always marshal
		}
		words[i] = string(b)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// stage writes the source of the image to a directory of the job.
func (im *image) stage(j *job, dir string) error {
	j.say("Copying the agent %s from %s", im.app, im.agentDir)
	for _, one := range im.leftOut {
		j.say("  left out: %s", one)
	}
	if im.hint != "" && slices.ContainsFunc(im.leftOut, func(one string) bool { return strings.HasSuffix(one, "("+holdsVariables+")") }) {
		j.say("  %s", im.hint)
	}
	target := path.Join(dir, agentsDir, im.app)
	for _, one := range im.files {
		name := path.Join(target, filepath.ToSlash(one.name))
		if j.dryRun {
			j.say("  %s", j.path(name))
			continue
		}
		if err := one.copy(j, im.agentDir, name); err != nil {
			return err
		}
	}
	if im.program == "" {
		j.say("The image builds parley %s", im.version)
	} else {
		j.say("Copying the program %s", im.program)
		if !j.dryRun {
			if err := j.copy(im.program, path.Join(dir, "parley"), 0o755); err != nil {
				return err
			}
		}
	}
	if needs := map[string]string{AccessOIDC: needsOIDC, AccessKeys: needsKeys}[im.access]; needs != "" {
		j.say("%s", needs)
	}
	j.say("Writing the Dockerfile")
	text := im.dockerfile()
	return j.write(path.Join(dir, "Dockerfile"), text, text)
}
