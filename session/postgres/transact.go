package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// limited begins a transaction that ends when its process sends nothing for ten seconds:
// a process that is stopped, or that cannot be reached, must not hold the locks on
// sessions whose runs others take over. It applies to the transaction only, because
// poolers share connections.
var limited = pgx.TxOptions{BeginQuery: "begin; set local idle_in_transaction_session_timeout = '10s'"}

// transact calls do in a transaction of several round trips.
func transact(ctx context.Context, conn interface {
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}, do func(pgx.Tx) error,
) error {
	return pgx.BeginTxFunc(ctx, conn, limited, do)
}
