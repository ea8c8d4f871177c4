package host

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// urlData reads a file of the data that the tests of the web platform have for URLs,
// as a Go module has it.
func urlData(t *testing.T, file string) json.RawMessage {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/nlnwa/whatwg-url@v0.6.2")
	download.Dir = t.TempDir() // outside of this module, whose checksums it would change
	out, err := download.Output()
	if err != nil {
		t.Fatalf("get the data of the web platform's tests: %v\n%s", err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The data of the web platform's tests: addresses, what they are relative to, and
// their parts.
func TestURLWebPlatform(t *testing.T) {
	t.Parallel()
	checkAll(t, "urltestdata.json", `
		let url;
		try { url = new URL(one.input, one.base ?? undefined); } catch {}
		if (one.failure || !url) return (!url) === Boolean(one.failure) ? "" : one.failure ? "is valid: " + url : "is not valid";
		return ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"]
			.filter((name) => name in one && url[name] !== one[name]).map((name) => name + " is " + url[name]).join();`)
}

func TestURLSettersWebPlatform(t *testing.T) {
	t.Parallel()
	checkAll(t, "setters_tests.json", `
		const url = new URL(one.href);
		url[one.key] = one.new_value;
		return Object.entries(one.expected).filter(([name, want]) => url[name] !== want).map(([name]) => name + " is " + url[name]).join();`)
}

func TestURLDomainsWebPlatform(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"IdnaTestV2.json", "toascii.json"} {
		checkAll(t, file, `
			let host = null;
			try { host = new URL("https://" + one.input.replace(/[:/?#\\]/g, encodeURIComponent) + "/x").host; } catch {}
			return one.input === "" || host === one.output ? "" : "is " + host;`)
	}
}

func TestURLLongDomain(t *testing.T) {
	t.Parallel()
	checkSnippets(t, Options{}, "", []snippet{
		{"a name that no resolver takes", `["\u00fc", "xn--tda", "a"].map((part) => URL.canParse("https://" + part.repeat(1e5)))`, `[false,false,true]`},
	})
}

// checkAll calls the body of a function with each element of a file, which returns
// what is wrong.
func checkAll(t *testing.T, file, check string) {
	t.Helper()
	s := newSandbox(t, Options{}, "", `
		const check = (one) => {`+check+`};
		const all = Array.isArray(params) ? params : Object.entries(params).flatMap(([key, list]) => list.map((one) => typeof one === "string" ? one : { key, ...one }));
		return all.filter((one) => typeof one !== "string").map((one) => [check(one), one]).filter(([wrong]) => wrong).map(([wrong, one]) => JSON.stringify(one) + ": " + wrong);`)
	var failed []string
	if err := json.Unmarshal([]byte(s.must(t, urlData(t, file))), &failed); err != nil {
		t.Fatal(err)
	}
	for _, one := range failed {
		t.Error(one)
	}
}
