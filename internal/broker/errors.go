package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"
)

// Refusal is the reason for refusing an answer to a credential request.
type Refusal int

// The values of Refusal.
const (
	Mismatched  Refusal = iota + 1 // it does not belong to its request
	Incomplete                     // it lacks something
	Conflicting                    // it comes too late, or without a request
	Forbidden                      // it comes from another browser than the login
	Unavailable                    // the server cannot keep credentials
)

// AnswerError refuses an answer to a credential request. No provider was called, and nothing has changed.
type AnswerError struct {
	Refusal Refusal
	Message string
}

func (e *AnswerError) Error() string { return e.Message }

func refuse(why Refusal, message string) error { return &AnswerError{why, message} }

// DeniedError means that the user refused access.
type DeniedError struct {
	Provider string // its host
}

func (e *DeniedError) Error() string {
	return "login at " + e.Provider + ": the user did not allow access"
}

// ExchangeError means that a provider refused a request, or did not answer.
type ExchangeError struct {
	Provider string // its host
	// Code is the error code of the provider, such as invalid_grant. It is empty if there is none.
	Code string
	// Reason describes what happened.
	Reason string
}

func (e *ExchangeError) Error() string { return "login at " + e.Provider + ": " + e.Reason }

// failure turns an error of a library into an ExchangeError. It omits the text of the library, because that repeats the
// provider's response, which may contain secrets. For the same reason it omits a code that looks like one of the
// secrets.
func failure(provider string, err error, secrets ...string) *ExchangeError {
	e := &ExchangeError{Provider: provider}
	if known, ok := errors.AsType[*ExchangeError](err); ok {
		return known
	}
	if refused, ok := errors.AsType[*guardError](err); ok {
		e.Reason = refused.Error()
		return e
	}
	if said, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		e.answered(said.Response, said.ErrorCode, secrets)
		return e
	}
	var timeout net.Error
	unreachable, isURL := errors.AsType[*url.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout(), isURL && unreachable.Timeout():
		e.Reason = "the provider did not answer in time"
	case errors.Is(err, context.Canceled):
		e.Reason = "the call was cancelled"
	case isURL:
		e.Reason = "the provider could not be reached"
	default:
		e.Reason = "the provider's answer could not be understood"
	}
	return e
}

// answered records the response of a provider.
func (e *ExchangeError) answered(response *http.Response, code string, secrets []string) {
	status := 0
	if response != nil {
		status = response.StatusCode
	}
	switch {
	case goodCode(code, secrets):
		e.Code = code
		e.Reason = "the provider answered " + code
	case status/100 == 3:
		e.Reason = "the provider answered with a redirect, which is not followed"
	default:
		e.Reason = fmt.Sprintf("the provider answered with status %d and no known error", status)
	}
}

// goodCode reports whether a word may be repeated as an error code. Codes are lower-case words; tokens hardly ever are.
func goodCode(code string, secrets []string) bool {
	if code == "" || len(code) > 40 || strings.ContainsFunc(code, func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') }) {
		return false
	}
	for _, secret := range secrets {
		if secret != "" && (strings.Contains(code, secret) || strings.Contains(secret, code) && len(code) > 5) {
			return false
		}
	}
	return true
}
