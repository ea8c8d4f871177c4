package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/sharelink"
	"github.com/parley-run/parley/session"
)

// Resealed is the result of Reseal.
type Resealed struct {
	Sealed int // with the primary key
	Lost   int // cannot be opened: their users have to log in again
}

// resealAt is the number of secrets that are read at a time.
const resealAt = 100

// Reseal encrypts everything with the primary key that is sealed with another one, so that the other keys can be
// deleted. Servers may run at the same time: Reseal repeats until no secret changes under it.
func Reseal(ctx context.Context, secrets session.Secrets, v *vault.Vault) (done Resealed, err error) {
	for again := true; again && err == nil; {
		again, err = done.round(ctx, secrets, v)
	}
	return done, err
}

// round processes all secrets once. It reports whether another process changed one.
func (done *Resealed) round(ctx context.Context, secrets session.Secrets, v *vault.Vault) (again bool, err error) {
	var after int64
	done.Lost = 0
	for {
		page, err := secrets.WalkSecrets(ctx, after, resealAt)
		if err != nil {
			return false, fmt.Errorf("reseal: %w", err)
		}
		for _, s := range page {
			after = s.Version
			// Notes of the inbox have nothing sealed; shared links have hashes.
			if strings.HasPrefix(s.Name, lockPrefix) || strings.HasPrefix(s.Name, sharelink.Prefix) || len(s.Sealed) == 0 || !v.Stale(s.Sealed) {
				continue
			}
			fresh, ok := reseal(s, v)
			if !ok {
				done.Lost++
				continue
			}
			switch _, err := secrets.PutSecret(ctx, fresh); {
			case err == nil:
				done.Sealed++
			case errors.Is(err, session.ErrChanged):
				again = true
			case !errors.Is(err, session.ErrNotFound):
				return false, fmt.Errorf("reseal: %w", err)
			}
		}
		if len(page) < resealAt {
			return again, nil
		}
	}
}

// reseal returns a secret, sealed with the primary key.
func reseal(s *session.Secret, v *vault.Vault) (*session.Secret, bool) {
	fresh := *s
	if s.App == "" {
		var is about
		if json.Unmarshal(s.About, &is) != nil || len(is.Owner) != 2 {
			return nil, false
		}
		fresh.App, fresh.User = is.Owner[0], is.Owner[1]
	}
	plain, err := v.Open(s.Sealed, bind(fresh.SecretID))
	if err != nil {
		return nil, false
	}
	if fresh.Sealed, err = v.Seal(plain, bind(fresh.SecretID)); err != nil {
		return nil, false
	}
	return &fresh, true
}
