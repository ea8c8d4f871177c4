package host

import (
	"testing"
	"testing/synctest"
)

// What is due first is called first, and of timers that are due at once the
// oldest.
func TestTimersKeepTheirOrder(t *testing.T) {
	t.Parallel()
	checkSnippets(t, Options{}, `
		const called = (start, n) => new Promise((done) => {
			const log = [];
			for (let i = 0; i < n; i++) start(() => { log.push(i); if (log.length === n) done(log); });
		});
		const inOrder = async (start) => (await called(start, 500)).every((v, i) => v === i);`, []snippet{
		{"at once", `return inOrder((fn) => setTimeout(fn, 0))`, "true"},
		{"immediates", `return inOrder((fn) => setImmediate(fn))`, "true"},
		{"after a while", `return inOrder((fn) => setTimeout(fn, 2))`, "true"},
		{"of which some are stopped", `const all = []; const log = await new Promise((done) => { const log = []; for (let i = 0; i < 9; i++) all.push(setTimeout(() => { log.push(i); if (i === 2) clearTimeout(all[4]); if (i === 8) done(log); }, 1)); clearTimeout(all[0]); clearTimeout(all[6]); clearTimeout(all[6]); }); return log.join()`, "1,2,3,5,7,8"},
		{"repeated", `let n = 0; await new Promise((done) => { const i = setInterval((step) => { n += step; if (n === 6) { clearInterval(i); done(); } }, 1, 2); }); return n`, "6"},
	})
}

func TestTimersByTheirTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSandbox(t, Options{}, "", `const log = []; for (const ms of [3e3, 1e3, 2e3, 1e3]) setTimeout(() => log.push(ms), ms);
			await new Promise((done) => setTimeout(done, 2.5e3)); return log;`)
		if got := s.must(t, nil); got != "[1000,1000,2000]" {
			t.Errorf("they were called in the order %s", got)
		}
	})
}
