package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/deploy"
)

func newDeploy(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "deploy",
		Short: "Deploy an agent",
		Long: `Put an agent where others can reach it: an image is made of the program and the
agent's directory, and runs as a service. Files with variables, databases, keys
and version control stay out of the image.`,
		GroupID: groupAgents,
		Args:    takes(0),
		RunE:    func(*cobra.Command, []string) error { return &usageError{"the target of the deployment is missing"} },
	}
	cmd.AddGroup(&cobra.Group{ID: groupAgents, Title: "Where to"})
	cmd.AddCommand(newDeployCloudRun(env), newDeployGKE(env), newDeployDocker(env), newDeployAgentCore(env), newDeployFoundry(env))
	return cmd
}

// deployment is a deployment of package deploy.
type deployment interface {
	Deploy(ctx context.Context, env *deploy.Env) error
}

// deployWith sets what all deployments share, and runs one.
func deployWith(cmd *cobra.Command, env *Env, d deployment, opts *deploy.Options) error {
	opts.AgentDir = env.path(opts.AgentDir)
	for _, file := range []*string{&opts.Binary, &opts.TempFolder} {
		if *file != "" {
			*file = env.path(*file)
		}
	}
	err := d.Deploy(cmd.Context(), &deploy.Env{
		Environ: env.Environ, Stdin: env.Stdin, Stdout: env.Stdout, Stderr: env.Stderr, Interactive: env.StdinTerminal, Styled: env.styled(),
		Executable: env.Executable, Version: parley.Version(), Now: time.Now, Transport: env.transport,
	})
	if refused, ok := errors.AsType[*deploy.UsageError](err); ok {
		return &usageError{refused.Message}
	}
	return err
}

// agentPath returns the one argument, and those after -- for another program, if
// allowed.
func agentPath(opts *deploy.Options, extra *[]string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		own := args
		if dash := cmd.ArgsLenAtDash(); dash >= 0 && extra != nil {
			own, *extra = args[:dash], args[dash:]
		}
		switch len(own) {
		case 0:
			return errors.New("AGENT_PATH, the directory of the agent, must be given")
		case 1:
			opts.AgentDir = own[0]
			return nil
		}
		return errors.New("only one AGENT_PATH can be given; arguments for other programs come after --")
	}
}

// deployFlags are the flags of deployments whose server listens where the user says.
func deployFlags(flags *pflag.FlagSet, o *deploy.Options, number *port, access *choice) {
	nameFlags(flags, o)
	flags.Var(number, "port", "port that the server listens on in its container")
	flags.Var(access, "access", "let the server authenticate callers: oidc with identity\ntokens, keys with API keys (default the platform\nauthenticates them, or the service is public)")
	flags.BoolVar(&o.WithUI, "with_ui", false, "also serve the developer UI")
	imageFlags(flags, o, "amd64")
}

// nameFlags and imageFlags are the flags of every kind of deployment.
func nameFlags(flags *pflag.FlagSet, o *deploy.Options) {
	flags.StringVar(&o.ServiceName, "service_name", deploy.DefaultServiceName, "`name` of the service")
	flags.StringVar(&o.AppName, "app_name", "", "`name` of the application (default that of AGENT_PATH)")
}

func imageFlags(flags *pflag.FlagSet, o *deploy.Options, arch string) {
	flags.BoolVar(&o.AllowProcesses, "allow_processes", false, "let the agent start processes, such as MCP servers over\nstdio, whose programs are in AGENT_PATH")
	flags.StringVar(&o.Binary, "binary", "", "static Linux `program` for "+arch+" to deploy (default this\none, or else a build of its release)")
	flags.StringVar(&o.TempFolder, "temp_folder", "", "`directory` for intermediate files, empty or new\n(default one with the time in its name, in the temporary\ndirectory of the system)")
	flags.BoolVar(&o.DryRun, "dry_run", false, "only show what would be written and run")
}

// cloudFlags are the flags of deployments to Google Cloud.
func cloudFlags(flags *pflag.FlagSet, c *deploy.Cloud, verbosity *choice) {
	flags.StringVar(&c.Project, "project", "", "`id` of the Google Cloud project; required")
	flags.StringVar(&c.Region, "region", "", "`region` to deploy to, such as us-central1; required")
	flags.StringVar(&c.AgentEngineID, "agent_engine_id", "", "`id` of an engine of Agent Engine that keeps sessions: a\nnumber, or projects/P/locations/L/reasoningEngines/ID\n(default none)")
	flags.Var(verbosity, "verbosity", "verbosity of gcloud")
}

// checks are the ways in which a server authenticates callers itself; none is the
// default.
func checks() *choice {
	return &choice{words: []string{deploy.AccessOIDC, deploy.AccessKeys}, kind: "mode"}
}

func verbosities() *choice {
	c := oneOf("warning", "debug", "info", "error")
	c.kind = "level"
	return c
}

func newDeployCloudRun(env *Env) *cobra.Command {
	var (
		d         deploy.CloudRun
		number    = port(8000)
		access    = checks()
		verbosity = verbosities()
	)
	cmd := &cobra.Command{
		Use:     "cloud_run [flags] AGENT_PATH [-- gcloud arguments]",
		Aliases: []string{"cloud-run"},
		Short:   "Deploy an agent to Cloud Run",
		Long: `Deploy an agent to Cloud Run. AGENT_PATH is its directory, with the main agent
file. gcloud builds the image and runs it.

Parley asks whether to allow unauthenticated invocations. If not, which is the
default, every request needs an identity token, and Cloud Run checks it. To
answer beforehand, add -- --allow-unauthenticated or
-- --no-allow-unauthenticated.`,
		Example: `  parley deploy cloud_run --project my-project --region us-central1 my_agent
  parley deploy cloud_run --project my-project --region us-central1 my_agent -- --memory 1Gi`,
		GroupID: groupAgents,
		Args:    agentPath(&d.Options, &d.Extra),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.Port, d.Access, d.Verbosity = int(number), access.value, verbosity.value
			return deployWith(cmd, env, &d, &d.Options)
		},
		ValidArgsFunction:     directories,
		DisableFlagsInUseLine: true,
	}
	section(cmd, "Google Cloud", func(flags *pflag.FlagSet) { cloudFlags(flags, &d.Cloud, verbosity) })
	section(cmd, "Service", func(flags *pflag.FlagSet) { deployFlags(flags, &d.Options, &number, access) })
	return cmd
}

func newDeployGKE(env *Env) *cobra.Command {
	var (
		d           deploy.GKE
		number      = port(8080)
		access      = checks()
		verbosity   = verbosities()
		serviceType = oneOf(deploy.LoadBalancer, deploy.ClusterIP)
	)
	serviceType.kind = "type"
	cmd := &cobra.Command{
		Use:   "gke [flags] AGENT_PATH",
		Short: "Deploy an agent to Google Kubernetes Engine",
		Long: `Deploy an agent to a cluster of Google Kubernetes Engine. AGENT_PATH is its
directory, with the main agent file. Cloud Build makes the image; a Deployment
runs it, behind a load balancer on port 80.

Parley asks whether to allow unauthenticated invocations from the internet. If
not, which is the default, only the network of the cluster reaches the load
balancer.`,
		Example: `  parley deploy gke --project my-project --region us-central1 --cluster_name main my_agent`,
		GroupID: groupAgents,
		Args:    agentPath(&d.Options, nil),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.Port, d.Access, d.Verbosity, d.ServiceType = int(number), access.value, verbosity.value, serviceType.value
			return deployWith(cmd, env, &d, &d.Options)
		},
		ValidArgsFunction:     directories,
		DisableFlagsInUseLine: true,
	}
	section(cmd, "Google Cloud", func(flags *pflag.FlagSet) {
		cloudFlags(flags, &d.Cloud, verbosity)
		flags.StringVar(&d.ClusterName, "cluster_name", "", "`name` of the cluster; required")
		flags.StringVar(&d.ClusterLocation, "cluster_location", "", "region or `zone` of the cluster (default the region)")
		flags.StringVar(&d.Repository, "repository", "parley", "`name` of the image repository; it is created if it does not\nexist")
		flags.BoolVar(&d.GrantModelRole, "grant_model_role", true, "let the service use the hosted models of the project")
	})
	section(cmd, "Service", func(flags *pflag.FlagSet) {
		deployFlags(flags, &d.Options, &number, access)
		flags.StringVar(&d.Namespace, "namespace", "default", "`name` of the Kubernetes namespace")
		flags.Var(serviceType, "service_type", "LoadBalancer, or ClusterIP for the cluster\nonly")
		flags.IntVar(&d.Replicas, "replicas", 1, "`number` of servers; more than one need a database")
		flags.StringVar(&d.SessionDBURL, "session_db_url", "", "`url` of the database that keeps sessions; it goes into a\nSecret (default the existing one, or memory)")
	})
	return cmd
}

func newDeployDocker(env *Env) *cobra.Command {
	var (
		d      deploy.Docker
		number = port(8000)
		access = checks()
	)
	cmd := &cobra.Command{
		Use:   "docker [flags] AGENT_PATH [-- docker run arguments]",
		Short: "Run an agent in Docker on this machine",
		Long: `Build an image with Docker and run it on this machine, in place of what was
deployed before under the same name. AGENT_PATH is the directory of the agent,
with the main agent file. Only programs on this machine can reach the server.`,
		Example: `  parley deploy docker my_agent
  parley deploy docker my_agent -- --env-file my_agent/.env`,
		GroupID: groupAgents,
		Args:    agentPath(&d.Options, &d.Extra),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.Port, d.Access = int(number), access.value
			return deployWith(cmd, env, &d, &d.Options)
		},
		ValidArgsFunction:     directories,
		DisableFlagsInUseLine: true,
	}
	section(cmd, "Service", func(flags *pflag.FlagSet) { deployFlags(flags, &d.Options, &number, access) })
	return cmd
}
