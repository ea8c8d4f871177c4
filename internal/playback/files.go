package playback

import (
	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// filesOf is where the files of a session are.
func filesOf(key session.Key) artifact.Place {
	return artifact.Place{App: key.App, User: key.User, Session: key.ID}
}

// version is one version of a file.
type version struct {
	name   string
	number int64
}

// files reports which versions of the files of the session were there when the run
// began. The log has those that agents saved and that came with messages; the time of
// others decides, which clients have saved. The files of the user are not among them:
// a repetition sees these as they are now.
func (o *original) files() (func(*tool.Artifact) bool, error) {
	then, later := map[version]bool{}, map[version]bool{}
	for _, entry := range o.session.Entries {
		ev, err := entry.Decode()
		if err != nil {
			return nil, err
		}
		into := then
		if entry.Seq > o.run.First {
			into = later
		}
		for name, number := range ev.Actions.ArtifactDelta {
			into[version{name, number}] = true
		}
	}
	began := o.message.Timestamp
	return func(a *tool.Artifact) bool {
		v := version{a.Name, a.Version}
		return then[v] || !later[v] && float64(a.Created.UnixMicro())/1e6 <= began
	}, nil
}
