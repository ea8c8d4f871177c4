package session

// Pack packs all sessions without an active run, as a store does when they are idle.
func (m *Memory) Pack() { m.packIdle(true) }

// PackIdle is what the timer of a store does.
func (m *Memory) PackIdle() { m.packIdle(false) }

// Shrink is what a cache does when memory is short. It returns the sizes of its logs before and
// after.
func Shrink(cached Store) (before, after int64) {
	c, _ := cached.Sessions.(*cache)
	before = c.logs.Size()
	c.shrink()
	return before, c.logs.Size()
}

// RecordingParts is how many parts of recordings are kept.
func (m *Memory) RecordingParts() (n int) {
	for _, rec := range m.sessions {
		if rec.recorded != nil {
			n += len(rec.recorded.parts)
		}
	}
	return n
}

// RecordingBytes is how many bytes of recordings are counted.
func (m *Memory) RecordingBytes() int { return m.recordings.bytes }
