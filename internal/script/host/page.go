package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/html"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/public"
)

const (
	maxPage       = 4 << 20 // bytes
	pageTimeout   = 30 * time.Second
	pageRedirects = 5
)

var (
	errInside   = errors.New("it is not in the public internet; a tool of your own can fetch it")
	errNoPage   = errors.New("its address must begin with https:// or http://")
	errEndless  = errors.New("it leads from one page to the next without an end")
	errNoAnswer = errors.New("nothing answers there")
)

// pageClient loads pages that models name. Addresses are checked when connecting:
// names may resolve differently each time, and pages may redirect.
func pageClient(reach func(netip.Addr) bool) *http.Client {
	if reach == nil {
		reach = public.Is
	}
	dialer := &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		if to, err := netip.ParseAddrPort(address); err != nil || !reach(to.Addr()) {
			return errInside
		}
		return nil
	}}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > pageRedirects {
				return errEndless
			}
			return nil
		},
	}
}

// page returns the text of a page. An error is a text as well: it is for the
// model.
func (h *Host) page(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var m struct {
		URL     string  `json:"url"`
		Timeout float64 `json:"timeoutMs"`
	}
	if err := json.Unmarshal(params, &m); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	timeout := pageTimeout
	if m.Timeout > 0 && m.Timeout < float64(pageTimeout.Milliseconds()) {
		timeout = time.Duration(m.Timeout * float64(time.Millisecond))
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	text, err := h.readPage(limited, m.URL)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("it took longer than %s", timeout)
	}
	if err != nil {
		text = "Failed to fetch url: " + err.Error()
	}
	return yield(text)
}

func (h *Host) readPage(ctx context.Context, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return "", errNoPage
	}
	req.Header.Set("User-Agent", userAgent)
	if err := h.slots.acquire(ctx); err != nil {
		return "", err
	}
	defer h.slots.release()
	resp, err := h.pages.Do(req)
	for _, known := range []error{errInside, errEndless, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return "", known
		}
	}
	if err != nil {
		return "", errNoAnswer
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return "", fmt.Errorf("the answer was %s", resp.Status)
	}
	body, err := bounded.ReadAll(resp.Body, maxPage, "the page")
	_, large := errors.AsType[*bounded.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "", err
	case large:
		return "", err
	case err != nil: // its text may contain the address of the server
		return "", errNoAnswer
	case strings.Contains(strings.ToLower(resp.Header.Get("Content-Type")), "html"):
		return pageText(body), nil
	}
	return string(body), nil
}

var (
	unseen = []string{"head", "noscript", "script", "style", "svg", "template"}
	blocks = []string{
		"article", "blockquote", "br", "div", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "li", "main", "nav", "ol", "p", "pre",
		"section", "table", "tr", "ul",
	}
)

// pageText returns the visible text of a page.
func pageText(page []byte) string {
	var text strings.Builder
	hidden := "" // the element whose content is not shown
	depth := 0   // how often it is nested
	tokens := html.NewTokenizer(bytes.NewReader(page))
	for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
		if kind == html.TextToken {
			if hidden == "" {
				text.Write(bytes.ReplaceAll(tokens.Text(), []byte("\n"), []byte(" ")))
			}
			continue
		}
		tag, _ := tokens.TagName()
		name := string(tag)
		switch {
		case hidden == "head" && name == "body": // the end of a head may be left out
			hidden = ""
		case hidden == "" && kind == html.StartTagToken && slices.Contains(unseen, name):
			hidden, depth = name, 1
		case hidden != "" && name == hidden && kind == html.StartTagToken:
			depth++
		case hidden != "" && name == hidden && kind == html.EndTagToken:
			if depth--; depth == 0 {
				hidden = ""
			}
		case slices.Contains(blocks, name):
			text.WriteByte('\n')
		}
	}
	var lines []string
	for line := range strings.Lines(text.String()) {
		if words := strings.Fields(line); len(words) > 0 {
			lines = append(lines, strings.Join(words, " "))
		}
	}
	return strings.Join(lines, "\n")
}
