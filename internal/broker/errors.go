package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"cloud.google.com/go/auth"
	"golang.org/x/oauth2"
)

// Refusal is why an answer to a credential request is refused.
type Refusal int

const (
	Mismatched  Refusal = iota + 1 // it does not belong to its request
	Incomplete                     // it lacks something
	Conflicting                    // it comes too late, or without a request
	Forbidden                      // it comes from another browser than the login
	Unavailable                    // the server cannot keep credentials
)

// AnswerError refuses an answer to a credential request. No provider was called,
// and nothing has changed.
type AnswerError struct {
	Refusal Refusal
	Message string
}

func (e *AnswerError) Error() string { return e.Message }

func refuse(why Refusal, message string) error { return &AnswerError{why, message} }

// DeniedError says that the user did not allow it.
type DeniedError struct {
	Provider string // its host
}

func (e *DeniedError) Error() string {
	return "login at " + e.Provider + ": the user did not allow access"
}

// ExchangeError says that a provider did not give out what it was asked for.
type ExchangeError struct {
	Provider string // its host
	// Code is what the provider calls the error, such as invalid_grant. It is
	// empty when the provider gave no name, or did not answer.
	Code string
	// Reason is what happened, in words.
	Reason string
}

func (e *ExchangeError) Error() string { return "login at " + e.Provider + ": " + e.Reason }

// failure makes an error of what a library says about a call. The library's own
// words are left out: they repeat what the provider has said, which may be
// anything, secrets included. For the same reason, a code that looks like one of
// the secrets is not repeated.
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
	if said, ok := errors.AsType[*auth.Error](err); ok {
		e.answered(said.Response, "", nil)
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

// answered tells what a provider has answered.
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

// goodCode tells whether a word may be repeated as the name of an error. Names
// of errors are small letters; tokens hardly ever are.
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
