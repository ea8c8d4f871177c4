package parley

import (
	"slices"
	"strings"

	"github.com/parley-run/parley/internal/sessionrt"
)

// agentEnviron is what agents in TypeScript, and the processes that they start,
// may see of the environment of the server: nothing that the server uses for
// itself. What an agent needs under a name that is left out, such as a database
// of its own, has a place in its .env file.
//
// Keys of models and Google's credentials stay: agents use them.
func (c *Config) agentEnviron(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(one string) bool {
		name, value, _ := strings.Cut(one, "=")
		return c.usesVariable(strings.ToUpper(name), value)
	})
}

// usesVariable reports whether the server uses a variable for itself, by its
// name in upper case or by its value.
func (c *Config) usesVariable(name, value string) bool {
	switch {
	case strings.HasPrefix(name, "PARLEY_"), strings.HasPrefix(name, "OTEL_"):
		return true
	case strings.HasPrefix(name, "PG"): // what the database driver reads: PGPASSWORD, PGPASSFILE, PGSSLKEY and more
		return isPostgres(c.Sessions.URL) || isPostgres(c.Access.KeysURL)
	case strings.HasPrefix(name, "AWS_"):
		return strings.HasPrefix(strings.ToLower(c.Artifacts.URL), "s3:") || strings.HasPrefix(c.Logins.KMS, "aws-kms:")
	case strings.HasSuffix(name, "_PROXY"):
		return strings.Contains(value, "@") // a password of the proxy
	}
	// Hosting platforms set variables such as DATABASE_URL, which flags repeat.
	return value != "" && (slices.Contains([]string{c.Sessions.URL, c.Access.KeysURL, c.Logins.Key, c.Access.OIDC.ClientSecret}, value) ||
		slices.Contains(sessionrt.URLs(c.Sessions.URL), value))
}

func isPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres:") || strings.HasPrefix(url, "postgresql:")
}
