package parley

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// Errors that take a broken database or a slow user to come about.
func TestPublicErrors(t *testing.T) {
	for _, one := range []struct{ err, want error }{
		{&session.UnavailableError{Cause: errors.New("away")}, ErrUnavailable},
		{run.ErrExpired, ErrExpired},
		{run.ErrClosing, ErrClosed},
		{&run.AppError{Cause: errors.New("syntax")}, ErrBrokenApp},
		{&run.LimitError{Message: "too many", After: time.Minute}, ErrLimited},
		{&broker.AnswerError{Refusal: broker.Conflicting}, ErrAnswered},
		{&broker.AnswerError{Refusal: broker.Unavailable}, ErrUnavailable},
		{&broker.AnswerError{Refusal: broker.Incomplete}, ErrInvalid},
	} {
		got := public(fmt.Errorf("start the run: %w", one.err))
		if !errors.Is(got, one.want) || !errors.Is(got, one.err) {
			t.Errorf("%v is not %v", got, one.want)
		}
	}
	if after := RetryAfter(public(&run.LimitError{After: time.Minute})); after != time.Minute {
		t.Errorf("retry after %v", after)
	}
}
