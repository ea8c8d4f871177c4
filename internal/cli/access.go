package cli

import (
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
)

// accessFlags are the flags that authenticate callers, in addition to --access.
type accessFlags struct {
	oidc       parley.OIDC
	userHeader string
	keysURL    string
	hosts      []string
	faces      []string
	platforms  []string
	a2aApp     string
	a2aURL     string
	webhooks   []string
	proxied    bool
}

func (a *accessFlags) define(flags *pflag.FlagSet) {
	flags.StringSliceVar(&a.oidc.Issuers, "oidc_issuer", nil, "`url` of an issuer of identity tokens; several need\nnames, as in name=https://…")
	flags.StringSliceVar(&a.oidc.Audiences, "oidc_audience", nil, "accepted `audience` of identity tokens; repeat it, or use\ncommas")
	flags.StringVar(&a.oidc.UserClaim, "oidc_user_claim", "sub", "`claim` that is the id of the user")
	flags.StringSliceVar(&a.oidc.Admins, "oidc_admin", nil, "`claim=value` of callers who may do everything")
	flags.StringSliceVar(&a.oidc.Delegates, "oidc_delegate", nil, "`claim=value` of callers who may act for any user")
	flags.StringSliceVar(&a.oidc.Readers, "oidc_reader", nil, "`claim=value` of callers who may look at what any user\nhas, and change nothing")
	flags.StringSliceVar(&a.oidc.Reviewers, "oidc_reviewer", nil, "`claim=value` of callers who may do that and give\nfeedback")
	flags.StringVar(&a.oidc.ClientID, "oidc_client_id", "", "client `id` of this server at the first issuer, where\nusers of the developer UI sign in")
	flags.StringVar(&a.oidc.ClientSecretFile, "oidc_client_secret_file", "", "`file` with the secret of that client, if it has one\n(PARLEY_OIDC_CLIENT_SECRET can hold the secret itself)")
	flags.StringVar(&a.userHeader, "user_header", "", "`header` with the user, set by the platform in front of\nthe server (default callers may act as any user)")
	flags.BoolVar(&a.proxied, "proxied", false, "with --access public, take the address of the caller for\nlimits from the last entry of X-Forwarded-For, which a\nproxy in front must set")
	flags.StringVar(&a.keysURL, "keys_db_url", "", "database of the API keys: a `url` as in\n--session_db_url, which is the default")
	flags.StringSliceVar(&a.hosts, "allow_hosts", nil, "host `names`, such as *.example.com, that requests may\nbe sent to (default any, if others than local programs\nmay call)")
	flags.StringSliceVar(&a.faces, "faces", nil, "`protocols` to serve besides the server's own: a2a,\nagui, aisdk, mcp, openai, or none (default all)")
	flags.StringSliceVar(&a.platforms, "platforms", nil, "hosting `platforms` whose paths to serve, too: agentcore\nor foundry")
	flags.StringVar(&a.a2aApp, "a2a_app", "", "`app` whose agent card is at\n/.well-known/agent-card.json, and which --platforms call\n(default the only one)")
	flags.StringVar(&a.a2aURL, "a2a_url", "", "`url` where clients of A2A reach that application, if what\nis in front has one (default, with --platforms\nagentcore, AGENTCORE_RUNTIME_URL)")
	flags.StringSliceVar(&a.webhooks, "allow_private_webhooks", nil, "private `networks`, such as 10.0.0.0/8, in which the\nreceivers of notifications may be")
}

func (a *accessFlags) configure(env *Env, cfg *parley.Config) {
	cfg.Access.UserHeader, cfg.Access.KeysURL, cfg.Network.AllowHosts = a.userHeader, a.keysURL, a.hosts
	cfg.Access.OIDC, cfg.Access.Proxied, cfg.Network.A2AApp = a.oidc, a.proxied, a.a2aApp
	cfg.Network.AllowPrivateWebhooks = a.webhooks
	for _, name := range a.faces {
		if cfg.Network.Faces == nil {
			cfg.Network.Faces = []parley.Face{}
		}
		if name != "none" || len(a.faces) > 1 { // an unknown one is refused
			cfg.Network.Faces = append(cfg.Network.Faces, parley.Face(name))
		}
	}
	for _, name := range a.platforms {
		cfg.Network.Platforms = append(cfg.Network.Platforms, parley.Platform(name))
	}
	if cfg.Network.A2AURL = a.a2aURL; a.a2aURL == "" && slices.Contains(cfg.Network.Platforms, parley.PlatformAgentCore) {
		cfg.Network.A2AURL, _ = env.getenv("AGENTCORE_RUNTIME_URL") // the runtime sets it
	}
	switch {
	case a.oidc.ClientSecretFile != "":
		cfg.Access.OIDC.ClientSecretFile = env.path(a.oidc.ClientSecretFile)
	case a.oidc.ClientID != "":
		cfg.Access.OIDC.ClientSecret, _ = env.getenv("PARLEY_OIDC_CLIENT_SECRET")
	}
}

// limitFlags are the flags that bound the resources of one caller and of one run.
type limitFlags struct {
	limits parley.Limits
	prices string
}

func (l *limitFlags) define(flags *pflag.FlagSet) {
	flags.IntVar(&l.limits.RequestsPerMinute, "max_requests_per_minute", 0, "`requests` of a caller per minute and application")
	flags.IntVar(&l.limits.ConcurrentRuns, "max_concurrent_runs", 0, "concurrent `runs` of a caller and application on this\nserver")
	flags.IntVar(&l.limits.QueueDepth, "max_queue_depth", 0, "queued `messages` of a session")
	flags.Int64Var(&l.limits.BodyBytes, "max_body_bytes", 32<<20, "maximum `size` of a request body")
	flags.DurationVar(&l.limits.RunDuration, "max_run_duration", time.Duration(0), "maximum `time` of a run")
	flags.IntVar(&l.limits.ModelCalls, "max_model_calls", 100, "maximum model `calls` of a run")
	flags.IntVar(&l.limits.ToolCalls, "max_tool_calls", 256, "maximum tool `calls` in one response of a\nmodel")
	flags.Int64Var(&l.limits.ModelResponseBytes, "max_model_response_bytes", 64<<20, "maximum `size` of a response of a\nmodel, or to a fetch of an agent")
	flags.Int64Var(&l.limits.ToolResultBytes, "max_tool_result_bytes", 10<<20, "maximum `size` of the result of a tool; concurrent calls\ntogether may have four times as much")
	flags.IntVar(&l.limits.ScheduledRuns, "max_scheduled_runs", 16, "maximum active `runs` of schedules; -1: none")
	flags.Int64Var(&l.limits.RunTokens, "max_run_tokens", 0, "maximum `tokens` of a run")
	flags.Int64Var(&l.limits.DayTokens, "max_day_tokens", 0, "maximum `tokens` of a user of an application per day,\nin UTC")
	flags.Float64Var(&l.limits.RunCost, "max_run_cost", 0, "maximum cost of a run in US `dollars`")
	flags.Float64Var(&l.limits.DayCost, "max_day_cost", 0, "maximum cost of a user of an application per day, in\nUS `dollars`")
	flags.Float64Var(&l.limits.WarnDayCost, "warn_day_cost", 0, "cost of a user of an application per day of which the\nlog warns, in US `dollars`")
	flags.StringVar(&l.prices, "price_file", "", "`file` with prices of models, in place of built-in ones")
}

func (l *limitFlags) configure(env *Env, cfg *parley.Config) {
	cfg.Limits = l.limits
	if l.prices != "" {
		cfg.PriceFile = env.path(l.prices)
	}
}
