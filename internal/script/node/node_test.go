//go:build unix

package node

import (
	"testing"
)

// What the code prints is not taken for an end of Node.js for lack of memory.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	for printed, want := range map[string]bool{
		"FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n": true,
		"# Fatal process OOM in insufficient memory to create an Isolate\n":                   true,
		"# Fatal process out of memory: Zone\n":                                               true,
		"FATAL ERROR: v8::ToLocalChecked Allocation failed\n":                                 true,
		"terminate called after throwing an instance of 'std::bad_alloc'\n":                   true,
		"Error: the ROOM is closed\n":                                                         false,
		"ZOOM\n":                                                                              false,
		"Error: Allocation failed for seat 7\n":                                               false,
	} {
		if got := outOfMemory(printed); got != want {
			t.Errorf("%q: %v", printed, got)
		}
	}
}
