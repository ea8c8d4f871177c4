package parley

import (
	"errors"
	"fmt"
	"net/http"
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
		{&broker.AnswerError{Status: http.StatusConflict}, ErrAnswered},
		{&broker.AnswerError{Status: http.StatusServiceUnavailable}, ErrUnavailable},
		{&broker.AnswerError{Status: http.StatusUnprocessableEntity}, ErrInvalid},
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
