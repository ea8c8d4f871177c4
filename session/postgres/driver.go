package postgres

import "github.com/parley-run/parley/session"

func init() {
	d := session.Driver{
		Shared: true,
		Open:   Open,
		Move:   moveUsers,
	}
	session.Register("postgres", d)
	session.Register("postgresql", d)
}
