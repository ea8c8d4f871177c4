package testkit

import "time"

// Linear reports whether the time that work takes grows with n, and not with its
// square. prepare makes work of a size, which is not measured. The whole is compared
// with its 16 parts, which a line takes as long for, and a square 16 times less. The
// best of several times counts: what else the machine does makes no difference. Where
// the best of three are clearly those of a line, no others are needed: of a square, the
// parts would have to take eight times too long each time.
func Linear(n int, prepare func(n int) (work func())) bool {
	const parts, tries, most, clearly = 16, 40, 5, 2
	timed := func(count, n int) (took time.Duration) {
		for range count {
			work := prepare(n)
			began := time.Now()
			work()
			took += time.Since(began)
		}
		return took
	}
	whole, inParts := timed(1, n), timed(parts, n/parts)
	for try := range tries {
		if try >= 2 && whole < clearly*inParts {
			return true
		}
		whole, inParts = min(whole, timed(1, n)), min(inParts, timed(parts, n/parts))
	}
	return whole < most*inParts
}
