package cli

import (
	"github.com/spf13/cobra"
)

func newCompletion(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print the completion script of a shell",
		Long: `Print a script that makes a shell complete parley's commands and flags.

Load it when the shell starts, or put it where the shell looks for completions.`,
		Example: `  source <(parley completion bash)                                   in ~/.bashrc
  parley completion zsh > "${fpath[1]}/_parley"                      once
  parley completion fish > ~/.config/fish/completions/parley.fish    once
  parley completion powershell | Out-String | Invoke-Expression      in $PROFILE`,
		GroupID:               groupMore,
		DisableFlagsInUseLine: true,
		Args:                  cobra.MatchAll(takes(1, "the name of a shell: bash, zsh, fish or powershell"), cobra.OnlyValidArgs),
		ValidArgs:             []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(env.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(env.Stdout)
			case "fish":
				return root.GenFishCompletion(env.Stdout, true)
			}
			return root.GenPowerShellCompletionWithDesc(env.Stdout)
		},
	}
}
