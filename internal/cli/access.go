package cli

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
)

// accessFlags are about who may call, beside --access.
type accessFlags struct {
	oidc       parley.OIDC
	userHeader string
	keysURL    string
	hosts      []string
	proxied    bool
}

func (a *accessFlags) define(flags *pflag.FlagSet) {
	flags.StringSliceVar(&a.oidc.Issuers, "oidc_issuer", nil, "`address` of an issuer of identity tokens; several need\nnames, as in name=https://…")
	flags.StringSliceVar(&a.oidc.Audiences, "oidc_audience", nil, "what identity tokens must be for; repeat it, or use\ncommas")
	flags.StringVar(&a.oidc.UserClaim, "oidc_user_claim", "sub", "`claim` that is the id of the user")
	flags.StringSliceVar(&a.oidc.Admins, "oidc_admin", nil, "`claim=value` of callers who may do everything")
	flags.StringSliceVar(&a.oidc.Delegates, "oidc_delegate", nil, "`claim=value` of callers who may act for any user")
	flags.StringVar(&a.oidc.ClientID, "oidc_client_id", "", "`id` by which the first issuer knows this server: users\nof the developer UI sign in there")
	flags.StringVar(&a.oidc.ClientSecretFile, "oidc_client_secret_file", "", "`file` with the secret of that client, if it has one\n(PARLEY_OIDC_CLIENT_SECRET can hold the secret itself)")
	flags.StringVar(&a.userHeader, "user_header", "", "`header` in which the platform in front says which user\na caller is (default callers may be any user)")
	flags.BoolVar(&a.proxied, "proxied", false, "with --access public, a proxy in front puts the address\nof the caller last in X-Forwarded-For: limits count by\nthat")
	flags.StringVar(&a.keysURL, "keys_db_url", "", "database that keeps API keys: a `url` as in\n--session_db_url, which is the default")
	flags.StringSliceVar(&a.hosts, "allow_hosts", nil, "host `names`, such as *.example.com, that requests may\nbe sent to (default any, if others than local programs\nmay call)")
}

func (a *accessFlags) configure(env *Env, cfg *parley.Config) {
	cfg.Access.UserHeader, cfg.Access.KeysURL, cfg.Network.AllowHosts = a.userHeader, a.keysURL, a.hosts
	cfg.Access.OIDC, cfg.Access.Proxied = a.oidc, a.proxied
	switch {
	case a.oidc.ClientSecretFile != "":
		cfg.Access.OIDC.ClientSecretFile = env.path(a.oidc.ClientSecretFile)
	case a.oidc.ClientID != "":
		cfg.Access.OIDC.ClientSecret, _ = env.getenv("PARLEY_OIDC_CLIENT_SECRET")
	}
}

// limitFlags keep one caller, or one run, from taking what others need.
type limitFlags struct {
	limits parley.Limits
}

func (l *limitFlags) define(flags *pflag.FlagSet) {
	flags.IntVar(&l.limits.RequestsPerMinute, "max_requests_per_minute", 0, "`requests` of a caller, for each application")
	flags.IntVar(&l.limits.ConcurrentRuns, "max_concurrent_runs", 0, "`runs` of a caller and application that this server\nworks on at once")
	flags.IntVar(&l.limits.QueueDepth, "max_queue_depth", 0, "`messages` that may wait for a session")
	flags.Int64Var(&l.limits.BodyBytes, "max_body_bytes", 32<<20, "`size` of the largest request body")
	flags.DurationVar(&l.limits.RunDuration, "max_run_duration", time.Duration(0), "how `long` a run may take")
	flags.IntVar(&l.limits.ModelCalls, "max_model_calls", 100, "`calls` of models that a run may make")
	flags.IntVar(&l.limits.ToolCalls, "max_tool_calls", 256, "`calls` of tools in one response of a model")
	flags.Int64Var(&l.limits.ModelResponseBytes, "max_model_response_bytes", 64<<20, "`size` of the largest response of a\nmodel, or to a fetch of an agent")
	flags.Int64Var(&l.limits.ToolResultBytes, "max_tool_result_bytes", 10<<20, "`size` of the largest result of a tool; those of calls\nthat are made at once may have four times as much\ntogether")
	flags.Int64Var(&l.limits.RunTokens, "max_run_tokens", 0, "`tokens` that a run may use")
	flags.Int64Var(&l.limits.DayTokens, "max_day_tokens", 0, "`tokens` that a user of an application may use in a\nday, in UTC")
}

func (l *limitFlags) configure(cfg *parley.Config) { cfg.Limits = l.limits }
