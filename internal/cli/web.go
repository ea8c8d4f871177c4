package cli

import (
	"context"
	"net"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
)

// uiFlags configure the UI.
type uiFlags struct {
	on   bool
	dir  string
	open toggle
}

func (f *uiFlags) define(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "with_ui", false, "serve the developer UI at the root address")
	flags.StringVar(&f.dir, "ui_dir", "", "serve the UI in this `dir`, such as the built files of\nadk-web, at /dev-ui/")
	flags.VarPF(&f.open, "open_browser", "", "open the UI in a browser").NoOptDefVal = "true"
}

func (f *uiFlags) configure(env *Env, cfg *parley.Config) {
	cfg.UI.Enabled = f.on
	if f.dir != "" {
		cfg.UI.Dir = env.path(f.dir)
	}
}

// opens reports whether the UI is opened in a browser. By default a person who starts
// it on a desktop gets one.
func (f *uiFlags) opens(env *Env, cmd *cobra.Command) bool {
	if f.open.given {
		return f.on && f.open.on
	}
	if cmd.Name() != "web" || !env.StdinTerminal || !env.StdoutTerminal {
		return false
	}
	for _, remote := range []string{"SSH_CONNECTION", "CI"} {
		if value, _ := env.getenv(remote); value != "" {
			return false
		}
	}
	x, _ := env.getenv("DISPLAY")
	wayland, _ := env.getenv("WAYLAND_DISPLAY")
	return x != "" || wayland != "" || runtime.GOOS == "darwin" || runtime.GOOS == "windows"
}

// openBrowser shows the UI of the server at an address in a browser. Without one, the
// address is on the terminal.
func openBrowser(ctx context.Context, at net.TCPAddr) {
	if at.IP.IsUnspecified() {
		at.IP = net.IPv4(127, 0, 0, 1)
	}
	address := "http://" + at.String()
	program, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	_ = exec.CommandContext(ctx, program, args...).Run() //nolint:gosec // the address is that of this server
}

// newWeb is api_server with the UI.
func newWeb(env *Env) *cobra.Command {
	cmd := newAPIServer(env)
	cmd.Use, cmd.Aliases, cmd.Short = "web [agent_dir]", nil, "Serve agents over HTTP, with the developer UI"
	cmd.Long = `Serve the agents in a directory over HTTP, with the developer UI at the root
address, until interrupted. It is api_server --with_ui, except that agents may
start processes as long as only local programs may call, and that the UI is
opened in a browser where there is a terminal and a desktop.`
	cmd.Example = `  parley web my_agent             with the key of a model in my_agent/.env
  parley web my_agent --offline   without a key, at http://127.0.0.1:8000`
	withUI := cmd.Flags().Lookup("with_ui")
	_ = withUI.Value.Set("true") // which is an allowed value of it
	withUI.DefValue = "true"
	cmd.Flags().Lookup("open_browser").Usage += " (default on in\na terminal on a desktop)"
	cmd.Flags().Lookup("allow_processes").Usage += "\n(default on with --access local and a loopback --host)"
	return cmd
}
