//go:build unix && !linux

package node

import (
	"syscall"
	"time"
)

func prepare(*syscall.SysProcAttr) {}

// limit does nothing: the limit of the heap is the only one here.
func limit(int, int64) {}

// processorTime is not known here.
func processorTime(int) (time.Duration, bool) { return 0, false }

func tooMany(int) error { return nil }

func killMarked(string) {}
