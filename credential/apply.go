package credential

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// ErrNotReady means that a credential cannot authorize a request yet: it must first
// be exchanged for a token, or the user must log in.
var ErrNotReady = errors.New("the credential is not ready to authorize a request")

// Apply adds a ready credential to a request, in the place that the scheme defines.
// An API key goes into a header, the query or a cookie; every other credential goes
// into the Authorization header. scheme may be nil unless the credential is an API
// key. If Apply fails, the request is unchanged. Errors never contain secrets.
func Apply(req *http.Request, scheme *Scheme, cred *Credential) error {
	if cred == nil {
		return ErrNotReady
	}
	kind := cred.kind()
	if kind == TypeAPIKey {
		return cred.applyKey(req, scheme)
	}
	if scheme.kind() == TypeAPIKey {
		return fmt.Errorf("the scheme asks for an API key, and the credential is of type %s", kind)
	}
	headers, err := cred.headers(scheme)
	if err != nil {
		return err
	}
	for name, value := range headers {
		if err := checkHeader(name, value); err != nil {
			return err
		}
	}
	if req.Header == nil {
		req.Header = http.Header{}
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		req.Header.Set(name, headers[name])
	}
	return nil
}

func (c *Credential) applyKey(req *http.Request, scheme *Scheme) error {
	switch {
	case c.APIKey == "":
		return ErrNotReady
	case scheme.kind() != TypeAPIKey:
		return errors.New("an API key needs a scheme of type apiKey that says where to put it")
	case scheme.Name == "":
		return errors.New("the apiKey scheme has no name")
	}
	switch scheme.In {
	case "header":
		if err := checkHeader(scheme.Name, c.APIKey); err != nil {
			return err
		}
		if req.Header == nil {
			req.Header = http.Header{}
		}
		req.Header.Set(scheme.Name, c.APIKey)
	case "query":
		if req.URL == nil {
			return errors.New("the request has no address")
		}
		setQuery(req.URL, scheme.Name, c.APIKey)
	case "cookie":
		cookie := &http.Cookie{Name: scheme.Name, Value: c.APIKey} //nolint:gosec // a request's cookie has no attributes
		if cookie.Valid() != nil {
			return fmt.Errorf("the API key, or the name %q, cannot be put into a cookie", scheme.Name)
		}
		if req.Header == nil {
			req.Header = http.Header{}
		}
		setCookie(req, cookie)
	default:
		return errors.New("the apiKey scheme does not say where the key goes: set in to header, query or cookie")
	}
	return nil
}

// setCookie replaces a cookie of the same name.
func setCookie(req *http.Request, cookie *http.Cookie) {
	if _, err := req.Cookie(cookie.Name); err == nil {
		others := req.Cookies()
		req.Header.Del("Cookie")
		for _, other := range others {
			if other.Name != cookie.Name {
				req.AddCookie(other)
			}
		}
	}
	req.AddCookie(cookie)
}

// setQuery does not re-encode the rest of the query, because some APIs sign it.
func setQuery(u *url.URL, name, value string) {
	kept := slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(pair string) bool {
		key, _, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(key)
		return pair == "" || err == nil && plain == name
	})
	u.RawQuery = strings.Join(append(kept, url.QueryEscape(name)+"="+url.QueryEscape(value)), "&")
}

// headers returns the headers that a credential other than an API key adds to a
// request. The credential always sets Authorization itself; its additional headers
// cannot replace it.
func (c *Credential) headers(scheme *Scheme) (map[string]string, error) {
	out := map[string]string{}
	if c.HTTP != nil {
		for _, name := range slices.Sorted(maps.Keys(c.HTTP.AdditionalHeaders)) {
			out[http.CanonicalHeaderKey(name)] = c.HTTP.AdditionalHeaders[name]
		}
	}
	authorization, err := c.authorization(scheme)
	if err != nil {
		return nil, err
	}
	if authorization != "" {
		out["Authorization"] = authorization
	}
	if len(out) == 0 {
		return nil, ErrNotReady
	}
	return out, nil
}

func (c *Credential) authorization(scheme *Scheme) (string, error) {
	if kind := c.kind(); kind == TypeHTTP {
		if c.HTTP == nil {
			return "", ErrNotReady
		}
		return c.HTTP.authorization(scheme)
	}
	switch {
	case c.ServiceAccount != nil && c.ServiceAccount.UseIDToken && c.OAuth2 != nil && c.OAuth2.IDToken != "":
		return "Bearer " + c.OAuth2.IDToken, nil
	case c.OAuth2 != nil && c.OAuth2.AccessToken != "":
		return "Bearer " + c.OAuth2.AccessToken, nil
	case c.HTTP != nil && c.HTTP.Token != "":
		return c.HTTP.authorization(nil)
	}
	return "", ErrNotReady
}

func (h *HTTP) authorization(scheme *Scheme) (string, error) {
	name := h.scheme()
	if h.Scheme == "" && scheme != nil && scheme.HTTPScheme != "" {
		name = strings.ToLower(scheme.HTTPScheme)
	}
	switch {
	case name == "basic":
		if h.Username == "" && h.Password == "" {
			return "", ErrNotReady
		}
		if strings.Contains(h.Username, ":") {
			return "", errors.New("a user name for basic authentication must not contain a colon")
		}
		basic := &http.Request{Header: http.Header{}}
		basic.SetBasicAuth(h.Username, h.Password)
		return basic.Header.Get("Authorization"), nil
	case h.Token == "" && len(h.AdditionalHeaders) > 0:
		return "", nil
	case h.Token == "":
		return "", ErrNotReady
	case name == "bearer":
		return "Bearer " + h.Token, nil
	}
	if h.Scheme == "" {
		return scheme.HTTPScheme + " " + h.Token, nil
	}
	return h.Scheme + " " + h.Token, nil
}

// scheme returns the name of the scheme in lower case, or infers it from the
// members if it is not set.
func (h *HTTP) scheme() string {
	switch {
	case h.Scheme != "":
		return strings.ToLower(h.Scheme)
	case h.Token == "" && (h.Username != "" || h.Password != ""):
		return "basic"
	}
	return "bearer"
}

// checkHeader rejects names and values that would break out of a header.
func checkHeader(name, value string) error {
	if name == "" || strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, c)
	}) {
		return fmt.Errorf("%q is not a valid header name", name)
	}
	if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		return fmt.Errorf("the value for the header %s contains line breaks or other control characters", name)
	}
	return nil
}
