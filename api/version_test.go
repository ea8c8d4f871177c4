package api_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestVersions: the document, the chart and the client have one version, which is
// that of the tag of a release.
func TestVersions(t *testing.T) {
	want := load(t).Info.Version
	chart := readFile(t, "../charts/parley/Chart.yaml")
	for _, name := range []string{"version", "appVersion"} {
		if m := regexp.MustCompile(`(?m)^` + name + `: (.+)$`).FindStringSubmatch(chart); m == nil || m[1] != want {
			t.Errorf("%s of the chart is %q, version of the API document %s", name, m, want)
		}
	}
	var client struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal([]byte(readFile(t, "../clients/typescript/package.json")), &client); err != nil || client.Version != want {
		t.Errorf("version of the TypeScript client is %q (%v), of the API document %s", client.Version, err, want)
	}
	tag, changes := os.Getenv("PARLEY_RELEASE"), readFile(t, "../CHANGELOG.md")
	if problem := sections(changes, want, tag != ""); problem != "" {
		t.Error(problem)
	}
	if tag == "" {
		return
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(tag, "v"), "-") // v0.1.0-rc.1 is before 0.1.0
	if version != want {
		t.Errorf("the tag is %s, the version of the API document %s", tag, want)
	}
}

// sections says what is wrong with the sections of the changelog, or "". Changes are in
// Unreleased until they are released; a release has a section, and leaves no change in
// Unreleased.
func sections(changes, version string, release bool) string {
	const heading = "\n## ["
	_, unreleased, found := strings.Cut(changes, heading+"Unreleased]")
	unreleased, _, _ = strings.Cut(unreleased, heading)
	released := strings.Contains(changes, heading+version+"]")
	switch {
	case release && !released:
		return "CHANGELOG.md has no section [" + version + "]: rename [Unreleased]"
	case release && strings.TrimSpace(unreleased) != "":
		return "CHANGELOG.md has changes in [Unreleased], which belong to [" + version + "]"
	case !found && !released:
		return "CHANGELOG.md has neither a section [Unreleased] nor one [" + version + "]"
	}
	return ""
}

func TestSections(t *testing.T) {
	for _, test := range []struct {
		changes string
		release bool
		want    string
	}{
		{"# Changelog\n\n## [Unreleased]\n\n- new\n", false, ""},
		{"# Changelog\n\n## [Unreleased]\n\n- new\n", true, "no section [0.1.0]"},
		{"# Changelog\n\n## [0.1.0] - 2026-12-01\n\n- new\n", true, ""},
		{"# Changelog\n\n## [0.1.0] - 2026-12-01\n\n- new\n", false, ""},
		{"# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-12-01\n\n- new\n", true, ""},
		{"# Changelog\n\n## [Unreleased]\n\n- newer\n\n## [0.1.0] - 2026-12-01\n\n- new\n", true, "changes in [Unreleased]"},
		{"# Changelog\n\n- new\n", false, "neither"},
	} {
		if got := sections(test.changes, "0.1.0", test.release); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%q, release %v: %q, want %q", test.changes, test.release, got, test.want)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
