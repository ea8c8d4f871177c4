package webui

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestGuideLinks follows every link of the guide, from its first page on, to the
// heading that it names.
func TestGuideLinks(t *testing.T) {
	h := handler(t, "")
	attribute := regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	pages := map[string]string{} // by their address
	queue := []string{Guide}
	var links [][2]string
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if _, ok := pages[at]; ok {
			continue
		}
		rec := get(t, h, at)
		if rec.Code != http.StatusOK {
			t.Errorf("%s: %d", at, rec.Code)
			continue
		}
		pages[at] = rec.Body.String()
		if !strings.HasPrefix(rec.Header().Get("Content-Type"), "text/html") {
			continue
		}
		base, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range attribute.FindAllStringSubmatch(pages[at], -1) {
			to, err := base.Parse(m[1])
			if err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			if to.Host != "" {
				continue
			}
			links = append(links, [2]string{at, to.String()})
			queue = append(queue, to.Path)
		}
	}
	if len(pages) < 25 || pages[Guide+"api.html"] == "" {
		t.Errorf("there are only %d pages", len(pages))
	}
	for _, link := range links {
		path, id, ok := strings.Cut(link[1], "#")
		if ok && !strings.Contains(pages[path], `id="`+id+`"`) {
			t.Errorf("%s links to %s, where no heading has this id", link[0], link[1])
		}
	}
}

// TestGuideIsSafe checks that the guide needs nothing that its policy forbids.
func TestGuideIsSafe(t *testing.T) {
	h := handler(t, "")
	guide, err := load(bundles, "guide")
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for name := range guide {
		rec := get(t, h, Guide+name)
		size += rec.Body.Len()
		policy := rec.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; ") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %q", name, policy)
		}
		if strings.HasSuffix(name, ".html") && regexp.MustCompile(`<style|<script>|<script [^>]*>[^<]| style="| on[a-z]+="`).Match(rec.Body.Bytes()) {
			t.Errorf("%s has scripts or styles inside", name)
		}
	}
	if size > 2_000_000 {
		t.Errorf("the guide has %d bytes", size)
	}
	for _, name := range []string{"none.html", "assets/none.js", "../dist/index.html"} {
		if rec := get(t, h, Guide+name); rec.Code == http.StatusOK {
			t.Errorf("%s: %d", name, rec.Code)
		}
	}
	var sections []struct{ ID, Page, Title, Text string }
	if err := json.Unmarshal(get(t, h, Guide+"search.json").Body.Bytes(), &sections); err != nil || len(sections) < 100 {
		t.Errorf("the search has %d sections, %v", len(sections), err)
	}
	for _, s := range sections {
		if name, _, _ := strings.Cut(s.ID, "#"); guide[name] == nil || s.Page == "" || s.Title == "" {
			t.Errorf("a section of the search is wrong: %+v", s)
		}
	}
}
