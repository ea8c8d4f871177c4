package playback

import (
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
)

// version is one version of a file.
type version struct {
	name   string
	number int64
}

// slack is by how much the clocks of servers may differ.
const slack = time.Minute

// files reports which versions of the files of the session a replay sees from the
// beginning. The log has those that agents saved before the run and after its beginning.
// The time of others decides: clients save files without a trace in the log, and so do
// tools that use the service of files themselves. The files of the user are not among
// them: a replay sees these as they are now.
func (o *original) files() (func(*tool.Artifact) bool, error) {
	before, after, saved := map[version]bool{}, map[version]bool{}, map[string]bool{}
	for _, entry := range o.session.Entries {
		ev, err := entry.Decode()
		if err != nil {
			return nil, err
		}
		for name, number := range ev.Actions.ArtifactDelta {
			switch {
			case entry.Seq <= o.run.First:
				before[version{name, number}] = true
			case ev.Author != event.User: // a message may have been queued before the run began
				after[version{name, number}], saved[name] = true, true
			}
		}
	}
	return func(a *tool.Artifact) bool {
		v := version{a.Name, a.Version}
		switch {
		case before[v] && after[v]: // numbers begin again after a file was deleted
			return !a.Created.After(o.run.Created)
		case before[v]:
			return !o.endedBefore(a) // as above
		case saved[a.Name]: // of several versions that a call saves, the log has the last
			return !a.Created.After(o.run.Created)
		}
		return !a.Created.After(o.run.Ended)
	}, nil
}

// endedBefore reports whether the run had ended when a version was saved.
func (o *original) endedBefore(a *tool.Artifact) bool {
	return a.Created.After(o.run.Ended.Add(slack))
}
