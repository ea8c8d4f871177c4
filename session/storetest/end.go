package storetest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// How a run has ended is what clients ask for, and are charged by.
func endKeeps(k *kit) {
	k.create(key("s"), nil)
	usage := event.Usage{
		Prompt: 1, Candidates: 2, Total: 1 << 40, CachedContent: 4, Thoughts: 5, ToolUsePrompt: 6,
		Extra: map[string]json.RawMessage{"promptTokensDetails": json.RawMessage(`[{"modality":"TEXT","tokenCount":1}]`)},
	}
	for i, end := range []session.End{
		{Status: session.Completed},
		{Status: session.Completed, Usage: usage},
		{Status: session.Failed, Failure: &session.Failure{Type: "MODEL_ERROR", Message: "It \u2028 'broke' 😀.", Reported: true}, Usage: event.Usage{Prompt: 1}},
		{Status: session.Failed, Failure: &session.Failure{}},
		{Status: session.Cancelled, Resumes: "run-0"},
		{Status: session.Waiting, Usage: usage, Resumes: "run-1"},
	} {
		id := fmt.Sprint("run-", i)
		begun := k.begin(asked(id, key("s")))
		if k.end(key("s"), begun.Run.Epoch, end) {
			k.Error("End reports that others are queued, and none is")
		}
		r := k.run(key("s"), id, end.Status)
		if diff := cmp.Diff(end, session.End{Status: r.Status, Failure: r.Failure, Usage: r.Usage, Resumes: r.Resumes}); diff != "" {
			k.Errorf("%s (-want +got):\n%s", id, diff)
		}
		if r.Epoch != begun.Run.Epoch || r.Number != begun.Run.Number || r.Attempt != 1 || !r.Created.Equal(begun.Run.Created) {
			k.Errorf("%+v is after its end %+v", begun.Run, r)
		}
		k.nothing(key("s"), "that has ended")
	}
}

// What a run says at last is in the log when it has ended, not before, and not
// without. First and Last are where its part of the log is.
func endEntries(k *kit) {
	k.create(key("s"), state("a", "1"), say("e0"))
	req := asked("run", key("s"))
	req.Message = say("m")
	epoch := k.begin(req).Run.Epoch
	k.append(key("s"), epoch, say("e1"))
	k.patch(key("s"), say("patch"))
	last := []*session.Entry{set("e2", "a", "null", "user:b", "1"), set("e3", "c", "2", "app:d", "3")}
	k.end(key("s"), epoch, session.End{Status: session.Completed, Entries: last})
	if last[0].Seq != 5 || last[1].Seq != 6 {
		k.Errorf("the last entries have the sequences %d and %d, want 5 and 6", last[0].Seq, last[1].Seq)
	}
	s := k.get(key("s"))
	k.hasLog(s, say("e0"), say("m"), say("e1"), say("patch"), last[0], last[1])
	k.hasState(s, "c", "2", "user:b", "1", "app:d", "3")
	if r := k.run(key("s"), "run", session.Completed); r.First != 2 || r.Last != 6 {
		k.Errorf("the run is from %d to %d, want 2 and 6", r.First, r.Last)
	}

	// What comes later is not its own.
	k.patch(key("s"), say("later"))
	k.append(key("s"), k.start("next", key("s")), say("e4"))
	if r := k.run(key("s"), "run", session.Completed); r.First != 2 || r.Last != 6 {
		k.Errorf("the run is from %d to %d after others have written, want 2 and 6", r.First, r.Last)
	}
}

// A run that says everything at its end begins there, too.
func endEntriesOnly(k *kit) {
	k.create(key("s"), nil, number("e", 2)...)
	epoch := k.start("run", key("s"))
	k.end(key("s"), epoch, session.End{Status: session.Failed, Entries: number("f", 3)})
	if r := k.run(key("s"), "run", session.Failed); r.First != 3 || r.Last != 5 {
		k.Errorf("the run is from %d to %d, want 3 and 5", r.First, r.Last)
	}
	// And one that has said nothing has no first word.
	k.complete(key("s"), k.start("silent", key("s")))
	if r := k.run(key("s"), "silent", session.Completed); r.First != 0 || r.Last != 5 {
		k.Errorf("the run is from %d to %d, want 0 and 5", r.First, r.Last)
	}
}

// A run ends once. Who comes later, or has nothing to say about it, changes
// nothing.
func endOnce(k *kit) {
	k.create(key("s"), nil)
	epoch := k.start("run", key("s"))
	for _, wrong := range []int64{0, -1, epoch + 1} {
		k.endFenced(key("s"), wrong, "that no run has")
	}
	k.endFenced(key("never"), epoch, "of another session")
	k.complete(key("s"), epoch)
	want, before := k.run(key("s"), "run", session.Completed), look(k.get(key("s")))
	k.endFenced(key("s"), epoch, "after the end")
	k.fenced(key("s"), epoch, "after the end")
	next := k.start("next", key("s"))
	k.endFenced(key("s"), epoch, "of the run before")
	k.sameRun("after it was ended again", want, k.run(key("s"), "run", session.Completed))
	k.same("after it was ended again", before, look(k.get(key("s"))))
	k.append(key("s"), next, say("e"))

	// Many who try at once are one who succeeds.
	won := make(chan struct{}, 10)
	k.together(cap(won), func(i int) error {
		_, err := k.store.End(k.Context(), key("s"), next, session.End{Status: session.Completed, Entries: number(fmt.Sprint("last", i), 1)})
		if err == nil {
			won <- struct{}{}
		} else if !errors.Is(err, session.ErrFenced) {
			return err
		}
		return nil
	})
	if s := k.get(key("s")); len(won) != 1 || s.Seq != 2 {
		k.Errorf("%d of %d ends succeeded, and there are %d entries, want 1 and 2", len(won), cap(won), s.Seq)
	}
}

// A run that is discarded never was: no run, no line in the list, nothing in
// the session.
func endDiscard(k *kit) {
	k.create(key("s"), state("a", "1"), say("e0"))
	before := look(k.get(key("s")))
	epoch := k.start("run", key("s"))
	k.enqueue("line", key("s"))
	k.note(key("s"), epoch, session.Journal{"n": []byte("1")})
	if !k.end(key("s"), epoch, session.End{Discard: true}) {
		k.Error("End does not report that another one is queued")
	}
	k.noRun(key("s"), "run")
	k.hasRuns(key("s"), "line")
	k.fenced(key("s"), epoch, "of a run that was discarded")
	k.same("after a run was discarded", before, look(k.get(key("s"))))

	epoch = k.claims(key("s"), "line")
	if k.end(key("s"), epoch, session.End{Discard: true}) {
		k.Error("End reports that others are queued, and none is")
	}
	k.hasRuns(key("s"))
	k.nothing(key("s"), "of which all runs were discarded")
	k.holds()
	k.same("after all runs were discarded", before, look(k.get(key("s"))))
	k.start("next", key("s"))
}
