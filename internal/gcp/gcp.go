// Package gcp gets access tokens for Google Cloud.
package gcp

import (
	"context"
	"errors"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
)

// TokenSource returns an access token, empty when none is needed.
type TokenSource func(ctx context.Context) (string, error)

// NoToken is the TokenSource for an emulator.
func NoToken(context.Context) (string, error) { return "", nil }

// DefaultTokens returns access tokens for a scope from the application's default
// credentials. The errors do not have the text of the cause, which may name files
// and accounts.
func DefaultTokens(scope string) (TokenSource, error) {
	found, err := credentials.DetectDefault(&credentials.DetectOptions{Scopes: []string{scope}})
	if err != nil {
		return nil, errors.New("there are no credentials of Google Cloud: on a machine of your own, run: gcloud auth application-default login")
	}
	cached := auth.NewCachedTokenProvider(found, nil)
	return func(ctx context.Context) (string, error) {
		token, err := cached.Token(ctx)
		if err != nil {
			return "", errors.New("the credentials of Google Cloud were refused")
		}
		return token.Value, nil
	}, nil
}
