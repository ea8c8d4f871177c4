package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-run/parley/internal/deploy"
)

func newDeployAgentCore(env *Env) *cobra.Command {
	var d deploy.AgentCore
	protocol := oneOf(deploy.Protocols...)
	cmd := &cobra.Command{
		Use:   "agentcore [flags] AGENT_PATH [-- aws arguments]",
		Short: "Deploy an agent to Amazon Bedrock AgentCore",
		Long: `Deploy an agent to the runtime of Amazon Bedrock AgentCore. AGENT_PATH is its
directory, with the main agent file. docker builds the image, for arm64, and
pushes it to Elastic Container Registry; aws creates the runtime, or updates
the one with the same name. Callers are those that AgentCore lets through.

What comes after -- goes to aws bedrock-agentcore-control create-agent-runtime,
or update-agent-runtime, which forgets what is not given again.`,
		Example: `  parley deploy agentcore --region us-east-1 --role_arn $ROLE my_agent`,
		GroupID: groupAgents,
		Args:    agentPath(&d.Options, &d.Extra),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.Protocol = protocol.value
			return deployWith(cmd, env, &d, &d.Options)
		},
		ValidArgsFunction:     directories,
		DisableFlagsInUseLine: true,
	}
	section(cmd, "Amazon Web Services", func(flags *pflag.FlagSet) {
		flags.StringVar(&d.Region, "region", "", "`region` to deploy to, such as us-east-1; required")
		flags.StringVar(&d.Role, "role_arn", "", "`ARN` of the role that the agent has; required")
		flags.StringVar(&d.Repository, "repository", "", "`name` of the image repository; it is created if it does not\nexist (default the name of the service)")
	})
	section(cmd, "Service", func(flags *pflag.FlagSet) {
		nameFlags(flags, &d.Options)
		flags.Var(protocol, "protocol", "how callers talk to the agent")
		imageFlags(flags, &d.Options, "arm64")
	})
	return cmd
}

func newDeployFoundry(env *Env) *cobra.Command {
	var d deploy.Foundry
	cmd := &cobra.Command{
		Use:   "foundry [flags] AGENT_PATH",
		Short: "Deploy an agent to Microsoft Foundry",
		Long: `Deploy an agent to Microsoft Foundry, as a hosted agent. AGENT_PATH is its
directory, with the main agent file. Azure Container Registry builds the image,
and az creates the agent, or a new version of it. Callers are those that
Foundry lets through.`,
		Example: `  parley deploy foundry --account my-foundry --project my-project --registry myregistry my_agent`,
		GroupID: groupAgents,
		Args:    agentPath(&d.Options, nil),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return deployWith(cmd, env, &d, &d.Options)
		},
		ValidArgsFunction:     directories,
		DisableFlagsInUseLine: true,
	}
	section(cmd, "Azure", func(flags *pflag.FlagSet) {
		flags.StringVar(&d.Account, "account", "", "`name` of the Foundry resource; required")
		flags.StringVar(&d.Project, "project", "", "`name` of the project in it; required")
		flags.StringVar(&d.Registry, "registry", "", "`name` of the container registry; required")
	})
	section(cmd, "Service", func(flags *pflag.FlagSet) {
		nameFlags(flags, &d.Options)
		flags.StringVar(&d.CPU, "cpu", "1", "`cores` of a container")
		flags.StringVar(&d.Memory, "memory", "2Gi", "`amount` of memory of a container")
		flags.StringArrayVar(&d.Variables, "env", nil, "variable of the server's environment, as in `NAME=value`;\nrepeat it")
		imageFlags(flags, &d.Options, "amd64")
	})
	return cmd
}
