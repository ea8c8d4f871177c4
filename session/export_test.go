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
