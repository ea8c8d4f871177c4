package cli

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
)

// --record 0 records nothing, also where all runs are recorded by default.
func TestRecordFlag(t *testing.T) {
	for _, test := range []struct {
		args []string
		want float64
	}{
		{nil, 0},
		{[]string{"--record", "0"}, -1},
		{[]string{"--record=-1"}, -1},
		{[]string{"--record", "0.25"}, 0.25},
		{[]string{"--record", "1"}, 1},
	} {
		var (
			r     recordingFlags
			cfg   parley.Config
			flags = pflag.NewFlagSet("", pflag.ContinueOnError)
		)
		r.define(flags)
		if err := flags.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		r.configure(&cfg)
		if cfg.Recording.Share != test.want {
			t.Errorf("%q: Share = %v, want %v", test.args, cfg.Recording.Share, test.want)
		}
	}
}
