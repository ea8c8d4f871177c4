package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/tool"
)

// login is the credential that an operation needs; nil if it needs none.
type login struct {
	cfg     *credential.Config
	problem error // why users cannot log in
	usable  bool  // the configured credential can be used directly
	static  bool  // and no other one can be obtained
}

func (b *builder) config(scheme *credential.Scheme) *credential.Config {
	return &credential.Config{Scheme: scheme.Clone(), Raw: b.cfg.Credential.Clone(), CredentialKey: b.cfg.CredentialKey}
}

func newLogin(cfg *credential.Config) *login {
	trial := &http.Request{URL: &url.URL{}}
	usable := cfg.Raw != nil && credential.Apply(trial, cfg.Scheme, cfg.Raw) == nil
	return &login{cfg: cfg, problem: cfg.Validate(), usable: usable, static: usable && cfg.Raw.OAuth2 == nil && cfg.Raw.ServiceAccount == nil}
}

// login selects the login of an operation.
func (b *builder) login(op *openapi3.Operation) (*login, error) {
	needs := b.doc.Security
	if op.Security != nil {
		if needs = *op.Security; len(needs) == 0 {
			return nil, nil
		}
	}
	if b.cfg.Scheme != nil {
		return newLogin(b.config(b.cfg.Scheme)), nil
	}
	if len(needs) == 0 || b.cfg.Headers != nil && b.cfg.Credential == nil {
		return nil, nil
	}
	var list []*login // one for each alternative that takes one login
	public := false
	var several []string
	for _, need := range needs {
		names := b.interesting(need)
		switch len(names) {
		case 0:
			public = true
		case 1:
			scheme, err := b.scheme(names[0])
			if err != nil {
				return nil, err
			}
			list = append(list, newLogin(b.config(scheme)))
		default:
			several = names
		}
	}
	fits := slices.IndexFunc(list, func(l *login) bool { return l.problem == nil })
	switch {
	case fits >= 0 && (b.cfg.Credential != nil || !public):
		return list[fits], nil
	case public:
		return nil, nil
	case len(list) > 0:
		return list[0], nil
	}
	return nil, fmt.Errorf("security: the operation needs %s at once, and a toolset has one login: set Scheme for one of them, and Headers for the others", strings.Join(several, " and "))
}

// interesting returns the schemes of one alternative. Client certificates are
// configured in the http.Client.
func (b *builder) interesting(need openapi3.SecurityRequirement) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(need)) {
		if s := b.securityScheme(name); s == nil || s.Type != "mutualTLS" {
			names = append(names, name)
		}
	}
	return names
}

func (b *builder) securityScheme(name string) *openapi3.SecurityScheme {
	if b.doc.Components == nil || b.doc.Components.SecuritySchemes[name] == nil {
		return nil
	}
	return b.doc.Components.SecuritySchemes[name].Value
}

func (b *builder) scheme(name string) (*credential.Scheme, error) {
	found := b.securityScheme(name)
	if found == nil {
		return nil, fmt.Errorf("security: components.securitySchemes has no %q", name)
	}
	doc, err := json.Marshal(found)
	if err != nil {
		return nil, fmt.Errorf("components.securitySchemes.%s: %w", name, err)
	}
	scheme, err := credential.DecodeScheme(doc)
	if err != nil {
		return nil, fmt.Errorf("components.securitySchemes.%s: %w", name, err)
	}
	return scheme, nil
}

// carries reports whether a parameter holds the key of the login. Such a parameter
// is hidden from the model.
func (l *login) carries(p *openapi3.Parameter) bool {
	if l == nil || l.cfg.Scheme.In != p.In {
		return false
	}
	return l.cfg.Scheme.Name == p.Name || p.In == "header" && strings.EqualFold(l.cfg.Scheme.Name, p.Name)
}

// credential returns the credential for a call; nil if the user must be asked.
func (l *login) credential(ctx *tool.Context) (*credential.Credential, error) {
	if l.problem != nil {
		return nil, fmt.Errorf("the operation needs a login: %w", l.problem)
	}
	if ctx.Credentials == nil && l.usable {
		return l.cfg.Raw.Clone(), nil
	}
	cred, err := ctx.AuthResponse(l.cfg.Clone())
	if err != nil || cred == nil {
		return nil, err
	}
	trial := &http.Request{URL: &url.URL{}}
	if errors.Is(credential.Apply(trial, l.cfg.Scheme, cred), credential.ErrNotReady) {
		return nil, nil
	}
	return cred, nil
}

// renew drops a refused credential. It returns another one, or nil if the user must
// be asked for it.
func (l *login) renew(ctx *tool.Context, refused *credential.Credential) (*credential.Credential, error) {
	cfg := l.cfg.Clone()
	cfg.Exchanged = refused.Clone() // another call may have obtained a newer one, which stays
	if err := ctx.DropCredential(cfg); err != nil {
		return nil, err
	}
	cred, err := l.credential(ctx)
	if err != nil || cred == nil {
		return nil, err
	}
	if reflect.DeepEqual(cred, refused) {
		return nil, errSame
	}
	return cred, nil
}

var errSame = errors.New("the same credential again")

// ask asks the user to log in.
func (l *login) ask(ctx *tool.Context) (any, error) {
	if err := ctx.RequestCredential(l.cfg.Clone()); err != nil {
		return nil, err
	}
	if ctx.State != nil {
		if err := ctx.State.Set(mark(ctx), true); err != nil {
			return nil, err
		}
	}
	return tool.Pending("Needs your authorization to access your data."), nil
}

// mark returns the state key under which a call records that it has asked. The call
// after the login has the same id, possibly in another process.
func mark(ctx *tool.Context) string { return "login_asked:" + ctx.FunctionCallID }

// asked reports whether the call has already asked, and clears that: this is the
// call after the login.
func asked(ctx *tool.Context) bool {
	if ctx.State == nil || ctx.FunctionCallID == "" {
		return false
	}
	_, ok := ctx.State.Raw(mark(ctx))
	if ok {
		ctx.State.Delete(mark(ctx))
	}
	return ok
}

// secrets returns the strings of a request that must not be shown: those of the
// credential, and of headers that carry secrets.
func secrets(req *http.Request, cred *credential.Credential, more map[string]string) (list []string) {
	add := func(text string) {
		if len(text) >= 4 {
			list = append(list, text, url.QueryEscape(text), url.PathEscape(text))
		}
	}
	if cred != nil {
		add(cred.APIKey)
		if h := cred.HTTP; h != nil {
			add(h.Token)
			add(h.Password)
			for _, v := range h.AdditionalHeaders {
				add(v)
			}
		}
		if o := cred.OAuth2; o != nil {
			for _, text := range []string{o.AccessToken, o.RefreshToken, o.IDToken, o.ClientSecret} {
				add(text)
			}
		}
		if _, text, ok := strings.Cut(req.Header.Get("Authorization"), " "); ok {
			add(text)
		}
	}
	for _, v := range more {
		if len(v) >= 8 {
			add(v)
			_, text, _ := strings.Cut(v, " ")
			add(text)
		}
	}
	// Longest first, because one may be a part of another.
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(list)
}
