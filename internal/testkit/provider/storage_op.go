package provider

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

var errUnsupported = errors.New("this provider has no such thing")

// CreateAuthRequest is for the library: a user has come with an authorization.
func (s *storage) CreateAuthRequest(ctx context.Context, request *oidc.AuthRequest, _ string) (op.AuthRequest, error) {
	if request.CodeChallenge == "" && s.options.RequirePKCE {
		return nil, oidc.ErrInvalidRequest().WithDescription("code_challenge required")
	}
	if request.CodeChallenge != "" && request.CodeChallengeMethod != oidc.CodeChallengeMethodS256 {
		return nil, oidc.ErrInvalidRequest().WithDescription("code_challenge_method must be S256")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	user, _ := ctx.Value(autoLogin{}).(string)
	if user == "" {
		user = s.auto
	}
	if user == "" && slices.Contains(request.Prompt, oidc.PromptNone) {
		return nil, oidc.ErrLoginRequired()
	}
	// A user may take their time; how long a code lives counts from its making.
	made := &authRequest{AuthRequest: *request, id: rand.Text(), auto: user, expires: s.now().Add(time.Hour)}
	s.requests[made.id] = made
	return made.copy(), nil
}

// AuthRequestByID is for the library.
func (s *storage) AuthRequestByID(_ context.Context, id string) (op.AuthRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request, err := s.request(id)
	if err != nil {
		return nil, err
	}
	return request.copy(), nil
}

// AuthRequestByCode is for the library.
func (s *storage) AuthRequestByCode(ctx context.Context, code string) (op.AuthRequest, error) {
	s.mu.Lock()
	id, ok := s.codes[code]
	s.mu.Unlock()
	if !ok {
		return nil, errUnsupported
	}
	return s.AuthRequestByID(ctx, id)
}

// SaveAuthCode is for the library: the user is sent back with a code.
func (s *storage) SaveAuthCode(_ context.Context, id, code string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	request, err := s.request(id)
	if err != nil {
		return err
	}
	request.expires = s.now().Add(s.options.CodeLife)
	s.codes[code] = id
	s.counts.Authorizations++
	return nil
}

// DeleteAuthRequest is for the library.
func (s *storage) DeleteAuthRequest(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.requests, id)
	return nil
}

// TerminateSession implements op.Storage. There are no sessions of users.
func (s *storage) TerminateSession(context.Context, string, string) error { return nil }

// Health is for the library.
func (s *storage) Health(context.Context) error { return nil }

// SigningKey is for the library.
func (s *storage) SigningKey(context.Context) (op.SigningKey, error) { return s.signing(), nil }

// SignatureAlgorithms is for the library.
func (s *storage) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.RS256}, nil
}

// KeySet is for the library.
func (s *storage) KeySet(context.Context) ([]op.Key, error) {
	return []op.Key{publicKey(s.signing())}, nil
}

// GetClientByClientID is for the library.
func (s *storage) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	if id != s.options.ClientID {
		return nil, oidc.ErrInvalidClient().WithDescription("no such client")
	}
	return client{s.options, s.issuer}, nil
}

// AuthorizeClientIDSecret is for the library.
func (s *storage) AuthorizeClientIDSecret(_ context.Context, id, secret string) error {
	if id != s.options.ClientID || subtle.ConstantTimeCompare([]byte(secret), []byte(s.options.ClientSecret)) != 1 {
		return errors.New("wrong client or secret")
	}
	return nil
}

// ClientCredentials is for the library.
func (s *storage) ClientCredentials(ctx context.Context, id, secret string) (op.Client, error) {
	if err := s.AuthorizeClientIDSecret(ctx, id, secret); err != nil {
		return nil, err
	}
	return s.GetClientByClientID(ctx, id)
}

// ClientCredentialsTokenRequest is for the library.
func (s *storage) ClientCredentialsTokenRequest(_ context.Context, id string, scopes []string) (op.TokenRequest, error) {
	for _, scope := range scopes {
		if !slices.Contains(s.options.Scopes, scope) {
			return nil, oidc.ErrInvalidScope().WithDescription("no scope %s", scope)
		}
	}
	return &clientRequest{id, scopes}, nil
}

// SetUserinfoFromScopes is for the library, which wants it empty.
func (s *storage) SetUserinfoFromScopes(context.Context, *oidc.UserInfo, string, string, []string) error {
	return nil
}

// SetUserinfoFromRequest is for the library: what an ID token says of a user.
func (s *storage) SetUserinfoFromRequest(_ context.Context, info *oidc.UserInfo, request op.IDTokenRequest, scopes []string) error {
	describe(info, request.GetSubject(), scopes)
	return nil
}

// SetUserinfoFromToken is for the library: what an access token says of a user.
func (s *storage) SetUserinfoFromToken(_ context.Context, info *oidc.UserInfo, id, _, _ string) error {
	token, err := s.accessToken(id)
	if err != nil {
		return err
	}
	describe(info, token.subject, token.scopes)
	return nil
}

// SetIntrospectionFromToken is for the library.
func (s *storage) SetIntrospectionFromToken(_ context.Context, info *oidc.IntrospectionResponse, id, _, _ string) error {
	token, err := s.accessToken(id)
	if err != nil {
		return err
	}
	info.Subject, info.Username, info.ClientID = token.subject, token.subject, s.options.ClientID
	info.Scope, info.TokenType, info.Issuer = token.scopes, oidc.BearerToken, s.issuer
	info.Expiration, info.Audience = oidc.FromTime(token.expires), oidc.Audience{s.options.ClientID}
	return nil
}

// GetPrivateClaimsFromScopes is for the library. Access tokens say nothing here.
func (s *storage) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return map[string]any{}, nil
}

// GetKeyByIDAndClientID is for the library. The client has no key.
func (s *storage) GetKeyByIDAndClientID(context.Context, string, string) (*jose.JSONWebKey, error) {
	return nil, errUnsupported
}

// ValidateJWTProfileScopes is for the library.
func (s *storage) ValidateJWTProfileScopes(context.Context, string, []string) ([]string, error) {
	return nil, errUnsupported
}

// describe tells of a user what the scopes allow.
func describe(info *oidc.UserInfo, user string, scopes []string) {
	info.Subject = user
	if slices.Contains(scopes, oidc.ScopeProfile) {
		info.Name, info.PreferredUsername = user, user
		if strings.HasPrefix(user, "manager") {
			info.AppendClaims("groups", []string{"managers"})
		}
	}
	if slices.Contains(scopes, oidc.ScopeEmail) {
		info.Email, info.EmailVerified = user, true
		if !strings.Contains(user, "@") {
			info.Email += "@example.com"
		}
	}
}
