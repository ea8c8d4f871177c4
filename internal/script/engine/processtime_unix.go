//go:build unix

package engine

import (
	"syscall"
	"time"
)

// processTime is the processor time that the process has used.
func processTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return time.Since(processStart)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
