package cli

import (
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
)

// 0 is forever on the command line, and the default in Go.
func TestWaitTTL(t *testing.T) {
	for arg, want := range map[string]time.Duration{"": 7 * 24 * time.Hour, "--wait_ttl=2h": 2 * time.Hour, "--wait_ttl=0": -1} {
		var s sessionFlags
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		s.define(flags)
		if err := flags.Parse([]string{arg}); err != nil {
			t.Fatal(err)
		}
		var cfg parley.Config
		s.configure(&cfg)
		if cfg.Sessions.WaitTTL != want {
			t.Errorf("%q is %v, want %v", arg, cfg.Sessions.WaitTTL, want)
		}
	}
}
