package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/parley-run/parley"
)

// fields maps the fields of parley.Config that errors name to the flags that set
// them.
var fields = map[string]string{ //nolint:gosec // names of flags
	"Scripts.Dir":                  "--agent_dir",
	"Scripts.AllowHosts":           "--allow_hosts_for_agents",
	"Scripts.Engine":               "--engine",
	"Scripts.Engines":              "--engines",
	"Scripts.EngineMemory":         "--engine_memory",
	"Sessions.URL":                 "--session_db_url",
	"Sessions.TTL":                 "--session_ttl",
	"Sessions.RunLease":            "--run_lease",
	"Sessions.OnBusy":              "--concurrency",
	"Sessions.OnDisconnect":        "--on_disconnect",
	"Recording.Share":              "--record",
	"Artifacts.URL":                "--artifact_service_uri",
	"Logins.Key":                   "PARLEY_CREDENTIAL_KEY",
	"Logins.KeyFile":               "--credential_key_file",
	"Logins.KMS":                   "--credential_kms",
	"Logins.Call":                  "--credential_call",
	"Logins.AllowPrivate":          "--allow_private_logins",
	"Logins.Timeout":               "--login_timeout",
	"Access.Mode":                  "--access",
	"Access.OIDC":                  "--oidc_issuer",
	"Access.OIDC.Issuers":          "--oidc_issuer",
	"Access.OIDC.Audiences":        "--oidc_audience",
	"Access.OIDC.ClientID":         "--oidc_client_id",
	"Access.OIDC.ClientSecret":     "PARLEY_OIDC_CLIENT_SECRET",
	"Access.OIDC.ClientSecretFile": "--oidc_client_secret_file",
	"Access.UserHeader":            "--user_header",
	"Access.Proxied":               "--proxied",
	"Access.KeysURL":               "--keys_db_url",
	"Limits.RequestsPerMinute":     "--max_requests_per_minute",
	"Limits.ConcurrentRuns":        "--max_concurrent_runs",
	"Limits.QueueDepth":            "--max_queue_depth",
	"Limits.RunDuration":           "--max_run_duration",
	"Limits.ScheduledRuns":         "--max_scheduled_runs",
	"Limits.RunTokens":             "--max_run_tokens",
	"Limits.DayTokens":             "--max_day_tokens",
	"Limits.RunCost":               "--max_run_cost",
	"Limits.DayCost":               "--max_day_cost",
	"Limits.WarnDayCost":           "--warn_day_cost",
	"PriceFile":                    "--price_file",
	"Limits.ModelCalls":            "--max_model_calls",
	"Limits.ToolCalls":             "--max_tool_calls",
	"Limits.ModelResponseBytes":    "--max_model_response_bytes",
	"Limits.ToolResultBytes":       "--max_tool_result_bytes",
	"Limits.BodyBytes":             "--max_body_bytes",
	"Network.Host":                 "--host",
	"Network.Port":                 "--port",
	"Network.PublicURL":            "--public_url",
	"Network.AllowOrigins":         "--allow_origins",
	"Network.AllowHosts":           "--allow_hosts",
	"Network.Faces":                "--faces",
	"Network.Platforms":            "--platforms",
	"Network.A2AURL":               "--a2a_url",
	"Network.A2AApp":               "--a2a_app",
	"Network.AllowPrivateWebhooks": "--allow_private_webhooks",
	"Network.PeerAddr":             "--peer_address",
	"Network.AdminAddr":            "--admin_addr",
	"UI.Enabled":                   "--with_ui",
	"UI.Dir":                       "--ui_dir",
}

// message returns the text of an error with flags in place of the fields of a Go
// struct, which users of the command do not know. Texts that are not about the
// configuration alone name both, as in --credential_kms (Logins.KMS).
func message(err error) string {
	_, inField := errors.AsType[*parley.ConfigError](err)
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // Logins.KeyFile before Logins.Key
	pairs := make([]string, 0, 4*len(names))
	for _, name := range names {
		flag := fields[name]
		pairs = append(pairs, flag+" ("+name+")", flag)
		if inField {
			pairs = append(pairs, name, flag)
		}
	}
	return strings.NewReplacer(pairs...).Replace(err.Error())
}
