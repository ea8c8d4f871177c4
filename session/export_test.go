package session

// Shrink is what a cache does when memory is short. It returns the sizes of its logs before and
// after.
func Shrink(cached Store) (before, after int64) {
	c, _ := cached.Sessions.(*cache)
	before = c.logs.Size()
	c.shrink()
	return before, c.logs.Size()
}
