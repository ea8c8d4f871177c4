package memstore

// Pack packs all sessions without an active run, as a store does when they are idle.
func (m *Backend) Pack() { m.packIdle(true) }

// PackIdle is what the timer of a store does.
func (m *Backend) PackIdle() { m.packIdle(false) }

// RecordingParts is how many parts of recordings are kept.
func (m *Backend) RecordingParts() (n int) {
	for _, rec := range m.sessions {
		if rec.recorded != nil {
			n += len(rec.recorded.parts)
		}
	}
	return n
}

// RecordingBytes is how many bytes of recordings are counted.
func (m *Backend) RecordingBytes() int { return m.recordings.bytes }
