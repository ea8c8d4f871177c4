package cli

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
)

// loginFlags configure the logins that tools request from users.
type loginFlags struct {
	keyFile, kms, publicURL string
	perUser                 bool
	networks                []string
	timeout                 time.Duration
	call                    *choice
}

func (l *loginFlags) define(flags *pflag.FlagSet) {
	l.call = oneOf(string(parley.LoginCallParley), string(parley.LoginCallADK))
	l.call.kind = "name"
	flags.StringVar(&l.keyFile, "credential_key_file", "", "`file` with the key that seals logins (default created\nnext to a SQLite file; PARLEY_CREDENTIAL_KEY can hold\nthe key itself)")
	flags.StringVar(&l.kms, "credential_kms", "", "`key` of a key management service that the key above\nis wrapped with: aws-kms://arn:… or gcp-kms://projects/…")
	flags.BoolVar(&l.perUser, "credentials_per_user", false, "keep a login for all sessions of its user")
	flags.StringVar(&l.publicURL, "public_url", "", "`url` at which users reach this server: it completes\ntheir logins itself")
	definePrivateLogins(flags, &l.networks)
	flags.DurationVar(&l.timeout, "login_timeout", 15*time.Second, "`time` limit for a response of a login provider")
	flags.Var(l.call, "credential_call", "name of the call that asks for a login;\nadk_request_credential is the one that clients made for\nADK know")
}

func definePrivateLogins(flags *pflag.FlagSet, networks *[]string) {
	flags.StringSliceVar(networks, "allow_private_logins", nil, "private `networks`, such as 10.0.0.0/8, in which login\nproviders may be")
}

func (l *loginFlags) configure(env *Env, cfg *parley.Config) {
	if cfg.Logins.KeyFile = l.keyFile; l.keyFile == "" {
		cfg.Logins.Key, _ = env.getenv("PARLEY_CREDENTIAL_KEY")
	}
	cfg.Logins.KMS = l.kms
	cfg.Network.PublicURL, cfg.Logins.PerUser = l.publicURL, l.perUser
	cfg.Logins.AllowPrivate, cfg.Logins.Timeout, cfg.Logins.Call = l.networks, l.timeout, parley.LoginCall(l.call.value)
}
