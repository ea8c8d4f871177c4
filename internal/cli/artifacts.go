package cli

import (
	"github.com/spf13/pflag"

	"github.com/parley-run/parley"
)

// artifactFlags say where files are kept, and which.
type artifactFlags struct {
	url   string
	input bool
}

func (a *artifactFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&a.url, "artifact_service_uri", "", "`url` of where to keep them: file:///path,\ns3://bucket, gs://bucket or memory://\n(default beside the sessions; with\nPostgres it has to be said)")
	flags.BoolVar(&a.input, "save_input_files", false, "keep the files in messages, too, and only\ntheir names in the conversation; a request\ncan say otherwise")
}

func (a *artifactFlags) configure(cfg *parley.Config) {
	cfg.Artifacts.URL, cfg.Artifacts.SaveInput = a.url, a.input
}
