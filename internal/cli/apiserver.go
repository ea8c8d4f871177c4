package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/gctune"
	"github.com/parley-run/parley/internal/loopback"
)

func newAPIServer(env *Env) *cobra.Command {
	var (
		agents     agentFlags
		reload     bool
		engines    uint
		host       string
		number     = port(8000)
		access     = oneOf(string(parley.AccessLocal), string(parley.AccessPublic), string(parley.AccessPlatform), string(parley.AccessOIDC), string(parley.AccessKeys))
		callers    accessFlags
		limits     limitFlags
		origins    []string
		peerAddr   string
		level      = logLevels("info")
		format     = oneOf("text", "json")
		admin      string
		verbose    bool
		sessions   sessionFlags
		recordings recordingFlags
		files      artifactFlags
		logins     loginFlags
		ui         uiFlags
	)
	access.kind = "mode"
	cmd := &cobra.Command{
		Use:     "api_server [agent_dir]",
		Aliases: []string{"api-server"},
		Short:   "Serve agents over HTTP",
		Long: `Serve the agents in a directory over HTTP, until interrupted.

An agent is a directory with an index.ts (or app.ts, agent.ts) that exports
rootAgent. Its .env file, or the one in the directory of the agents, is its
environment. It can import what is in that directory, and packages.`,
		Example: `  parley api_server                                  the agents in the working directory
  parley api_server my_agent --port 9000 --offline   without a model key
  parley api_server --host 0.0.0.0 --access public   for everyone in the network`,
		GroupID: groupAgents,
		Args:    takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := agents.config(env, cmd, args)
			if err != nil {
				return err
			}
			cfg.Scripts.Reload, cfg.Scripts.Engines = reload, int(engines)
			// With a host, port 0 means any, and PORT is not read.
			cfg.Network.Host, cfg.Network.Port = cmp.Or(host, "127.0.0.1"), int(number)
			// With the UI, and for local programs only, it serves authors who try
			// their own agents.
			own := cmd.Name() == "web" && access.value == string(parley.AccessLocal) && loopback.Is(cfg.Network.Host)
			if err := agents.allow(&cfg, own); err != nil {
				return err
			}
			cfg.Access.Mode, cfg.Network.AllowOrigins = parley.AccessMode(access.value), origins
			cfg.Network.PeerAddr = peerAddr
			cfg.Log = env.logger(level.value, format.value)
			if env.config.path != "" {
				cfg.Log.Info("values of flags are read from a file", "file", env.config.path)
			}
			if other, _ := env.getenv("PARLEY_ACCESS"); other != "" && other != access.value {
				// An image may set the flag without the knowledge of its operator.
				cfg.Log.Warn("--access on the command line wins over PARLEY_ACCESS", "access", access.value, "ignored", other)
			}
			cfg.Network.AdminAddr, cfg.Verbose = admin, verbose
			sessions.configure(&cfg)
			recordings.configure(&cfg)
			files.configure(&cfg)
			logins.configure(env, &cfg)
			ui.configure(env, &cfg)
			callers.configure(env, &cfg)
			limits.configure(env, &cfg)
			signalled, stop := signal.NotifyContext(context.WithoutCancel(cmd.Context()), os.Interrupt, syscall.SIGTERM)
			defer stop()
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			context.AfterFunc(signalled, func() {
				stop() // the second signal ends the process immediately
				cancel()
			})
			srv, err := load(signalled, func() (*parley.Server, error) { return parley.Open(ctx, cfg) })
			if srv == nil {
				return err
			}
			// Call Serve, because Run handles signals itself: with two handlers, the
			// second signal might reach the one that has not been stopped yet.
			listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(cfg.Network.Host, strconv.Itoa(cfg.Network.Port)))
			if err == nil {
				gctune.Tune(func(name string) string { value, _ := env.getenv(name); return value })
				go gctune.Settle()
				if address, ok := listener.Addr().(*net.TCPAddr); ok && ui.opens(env, cmd) {
					go openBrowser(ctx, *address)
				}
				return srv.Serve(ctx, listener)
			}
			srv.Close(ctx)
			if errors.Is(err, syscall.EADDRINUSE) {
				return fmt.Errorf("port %d of %s is in use: choose another one with --port, or a free one with --port 0", cfg.Network.Port, cfg.Network.Host)
			}
			return err
		},
		ValidArgsFunction: directories,
	}
	section(cmd, "Agents", func(flags *pflag.FlagSet) {
		agents.define(flags)
		flags.BoolVar(&reload, "reload_agents", env.StdoutTerminal, "reload changed files (default on when standard\noutput is a terminal)")
		flags.Lookup("reload_agents").DefValue = "false" // the help text describes it
		flags.UintVar(&engines, "engines", 1, "run `n` JavaScript engines for each application; more\nthan one only if it is heavy on CPU, since they share\nno variables")
	})
	section(cmd, "Sessions", sessions.define)
	section(cmd, "Recording", recordings.define)
	section(cmd, "Artifacts", files.define)
	section(cmd, "Logins of users, for tools", logins.define)
	section(cmd, "Developer UI", ui.define)
	section(cmd, "Network", func(flags *pflag.FlagSet) {
		flags.StringVar(&host, "host", "127.0.0.1", "`address` to listen on; one that other\nmachines can reach needs --access")
		flags.VarP(&number, "port", "p", "port to listen on; 0 means a free one")
		flags.Var(access, "access", "who may call: local programs, the public, callers that\nthe platform in front authenticates, or callers with an\nidentity token or an API key: local, public, platform,\noidc or keys")
		flags.StringSliceVar(&origins, "allow_origins", nil, "web `origins` whose pages may call, such as\nhttps://app.example.com; repeat it, or use\ncommas")
		flags.StringVar(&peerAddr, "peer_address", "", "`address` at which other servers that share the\ndatabase reach this one, such as 10.0.0.7 or\nhttp://10.0.0.7:8000, so that clients there get texts\nin pieces, too")
	})
	section(cmd, "Callers, with --access", callers.define)
	section(cmd, "Limits (none where no default is shown)", limits.define)
	section(cmd, "Logging, metrics", func(flags *pflag.FlagSet) {
		flags.BoolVar(&verbose, "verbose", false, "also print the address of each protocol for other\nclients when the server starts; see --faces")
		flags.Var(level, "log_level", "minimum level to log")
		flags.Var(format, "log_format", "how to write the log, on standard error")
		flags.StringVar(&admin, "admin_addr", "", "serve metrics, probes and profiles at this `address`,\nto all clients that can reach it: a port of the loopback\ninterface, or an address and a port")
	})
	return cmd
}

// load waits until a server is created, which loads its agents, or until ctx is
// done. In that case it returns nil and no error, and closes the server when it is
// created.
func load(ctx context.Context, made func() (*parley.Server, error)) (*parley.Server, error) {
	type outcome struct {
		srv *parley.Server
		err error
	}
	loaded := make(chan outcome, 1)
	go func() {
		srv, err := made()
		loaded <- outcome{srv, err}
	}()
	select {
	case o := <-loaded:
		return o.srv, o.err
	case <-ctx.Done():
		go func() {
			if o := <-loaded; o.srv != nil {
				o.srv.Close(context.WithoutCancel(ctx))
			}
		}()
		return nil, nil
	}
}
