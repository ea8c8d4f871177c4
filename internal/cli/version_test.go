package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
)

// A build of a working copy says which revision it is, unless its version does.
func TestVersion(t *testing.T) {
	const revision = "dc6c35e6fea5499cb4b597f5924e74ebb9b708b0"
	info := func(module, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: module}, Settings: []debug.BuildSetting{
			{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified},
		}}
	}
	const parley, short = "github.com/parley-run/parley", "dc6c35e6fea5"
	for _, test := range []struct {
		version    string
		info       *debug.BuildInfo
		want, more string // the version as text, and what JSON has after the architecture
	}{
		{"devel", nil, "devel", ""},
		{"devel", &debug.BuildInfo{Main: debug.Module{Path: parley}}, "devel", ""},
		{"devel", info(parley, "false"), "devel " + short, `,"revision":"` + revision + `"`},
		{"devel", info(parley, "true"), "devel " + short + " (modified)", `,"revision":"` + revision + `","modified":true`},
		{"devel", info("example.com/other", "true"), "devel", ""},
		{"v1.2.3", info(parley, "false"), "v1.2.3", `,"revision":"` + revision + `"`},
	} {
		b := buildOf(test.version, test.info)
		if got, want := b.String(), fmt.Sprintf("parley %s %s %s/%s", test.want, runtime.Version(), runtime.GOOS, runtime.GOARCH); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		want := fmt.Sprintf(`{"version":%q,"go":%q,"os":%q,"arch":%q%s}`, test.version, runtime.Version(), runtime.GOOS, runtime.GOARCH, test.more)
		if got, err := json.Marshal(b); err != nil || string(got) != want {
			t.Errorf("%s, want %s: %v", got, want, err)
		}
	}
}
