package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
)

// uiFlags configure the UI.
type uiFlags struct {
	on  bool
	dir string
}

func (f *uiFlags) define(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "with_ui", false, "serve the developer UI at the root address")
	flags.StringVar(&f.dir, "ui_dir", "", "serve the UI in this `dir`, such as the built files of\nadk-web, at /dev-ui/")
}

func (f *uiFlags) configure(env *Env, cfg *parley.Config) {
	cfg.UI.Enabled = f.on
	if f.dir != "" {
		cfg.UI.Dir = env.path(f.dir)
	}
}

// newWeb is api_server with the UI.
func newWeb(env *Env) *cobra.Command {
	cmd := newAPIServer(env)
	cmd.Use, cmd.Aliases, cmd.Short = "web [agent_dir]", nil, "Serve agents over HTTP, with the developer UI"
	cmd.Long = `Serve the agents in a directory over HTTP, with the developer UI at the root
address, until interrupted. It is api_server --with_ui, except that agents may
start processes as long as only local programs may call.`
	cmd.Example = `  parley web my_agent --offline   then open http://127.0.0.1:8000`
	withUI := cmd.Flags().Lookup("with_ui")
	_ = withUI.Value.Set("true") // which is an allowed value of it
	withUI.DefValue = "true"
	cmd.Flags().Lookup("allow_processes").Usage += "\n(default on with --access local and a loopback --host)"
	return cmd
}
