package cli

import (
	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
)

// artifactFlags configure where files are stored, and which.
type artifactFlags struct {
	url   string
	input bool
}

func (a *artifactFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&a.url, "artifact_service_uri", "", "`url` of their store: file:///path,\ns3://bucket, gs://bucket or memory://\n(default next to the sessions; required\nwith Postgres)")
	flags.BoolVar(&a.input, "save_input_files", false, "also store files of messages, with only\ntheir names in the conversation; a request\ncan override it")
}

func (a *artifactFlags) configure(cfg *parley.Config) {
	cfg.Artifacts.URL, cfg.Artifacts.SaveInput = a.url, a.input
}
