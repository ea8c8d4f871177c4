package provider

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// What Login looks for in the page: where its form goes, and what it hides.
var (
	formAction  = regexp.MustCompile(`<form method="post" action="([^"]*)"`)
	hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)
)

// longestWalk is how many pages Login looks at before it gives up.
const longestWalk = 20

// Login does what a user with a browser would do at an authorization URI: it
// fills in the page with the user's name and allows or denies. It returns the
// URL that the user would be sent back to, and does not call it.
func (p *Provider) Login(ctx context.Context, authURI, user string, allow bool) (callbackURL string, err error) {
	return walk(ctx, p.issuer, authURI, user, allow)
}

// Visit is Login at a provider of which nothing but the authorization URI is known.
func Visit(ctx context.Context, authURI, user string, allow bool) (callbackURL string, err error) {
	return walk(ctx, authURI, authURI, user, allow)
}

// walk goes from page to page until one at the home of the provider leads
// elsewhere. The first may be somewhere else, and lead to the provider.
func walk(ctx context.Context, home, authURI, user string, allow bool) (callbackURL string, err error) {
	start, err := url.Parse(home)
	if err != nil {
		return "", fmt.Errorf("provider: login: %w", err)
	}
	own := func(address string) bool {
		u, err := url.Parse(address)
		return err == nil && u.Scheme == start.Scheme && u.Host == start.Host
	}
	decision := "deny"
	if allow {
		decision = "allow"
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	browser := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	here, form := authURI, url.Values(nil)
	for range longestWalk {
		next, text, err := visit(ctx, browser, here, form)
		if err != nil {
			return "", fmt.Errorf("provider: login: %w", err)
		}
		switch {
		case next != "" && own(here) && !own(next):
			return next, nil
		case next != "":
			here, form = next, nil
		default:
			action := formAction.FindStringSubmatch(text)
			if action == nil || form != nil {
				return "", fmt.Errorf("provider: login: the page at %s leads nowhere: %.300s", withoutQuery(here), text)
			}
			form = url.Values{"user": {user}, "decision": {decision}}
			for _, input := range hiddenInput.FindAllStringSubmatch(text, -1) {
				form.Set(html.UnescapeString(input[1]), html.UnescapeString(input[2]))
			}
			if here, err = resolve(here, html.UnescapeString(action[1])); err != nil {
				return "", err
			}
		}
	}
	return "", fmt.Errorf("provider: login: no end after %d pages", longestWalk)
}

// visit gets a page, or posts a form to it. It returns where the page sends the
// browser, or else its text.
func visit(ctx context.Context, browser *http.Client, address string, form url.Values) (next, text string, err error) {
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	request, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return "", "", err
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := browser.Do(request)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = response.Body.Close() }()
	if location := response.Header.Get("Location"); response.StatusCode/100 == 3 && location != "" {
		next, err := resolve(address, location)
		return next, "", err
	}
	read, err := io.ReadAll(io.LimitReader(response.Body, largestBody))
	if err != nil {
		return "", "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", "", fmt.Errorf("%s answers %s: %.300s", withoutQuery(address), response.Status, read)
	}
	return "", string(read), nil
}

// resolve makes an address of a link on a page.
func resolve(page, link string) (string, error) {
	base, err := url.Parse(page)
	if err != nil {
		return "", err
	}
	target, err := base.Parse(link)
	if err != nil {
		return "", err
	}
	return target.String(), nil
}

// withoutQuery leaves out what may be secret.
func withoutQuery(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address
}
