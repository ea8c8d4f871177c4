package agentengine

import (
	"context"
	"os"

	"github.com/parley-run/parley/session"
)

func init() {
	session.Register(Scheme, session.Driver{
		Volatile: true,
		Open: func(ctx context.Context, url string, o session.Options) (session.Store, error) {
			return Open(ctx, Options{
				URL: url, Log: o.Log,
				Getenv: os.Getenv, //nolint:forbidigo // where the tools of Google Cloud look for the project, too
			})
		},
	})
}
