package openai

import "unicode"

// maxDelta is how many characters a delta has at most.
const maxDelta = 32

// cutter cuts a text into deltas. Where it cuts depends on the text alone, not on the
// pieces in which the text arrives: after the first white space that follows a word, and
// after maxDelta characters. It holds back what may become longer.
type cutter struct {
	held  []byte
	runes int
	word  bool // held has something besides white space
}

// add passes the deltas to emit that a piece of the text completes.
func (c *cutter) add(text string, emit func(delta string)) {
	for _, r := range text {
		c.held = append(c.held, string(r)...)
		c.runes++
		space := unicode.IsSpace(r)
		c.word = c.word || !space
		if space && c.word || c.runes == maxDelta {
			c.flush(emit)
		}
	}
}

// flush passes on what is held back at the end of the text.
func (c *cutter) flush(emit func(delta string)) {
	if len(c.held) > 0 {
		emit(string(c.held))
	}
	*c = cutter{held: c.held[:0]}
}
