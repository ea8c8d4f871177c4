package engine

import (
	"syscall"
	"time"
)

// processTime is the processor time that the process has used.
func processTime() time.Duration {
	var created, exited, kernel, user syscall.Filetime
	self, err := syscall.GetCurrentProcess()
	if err != nil || syscall.GetProcessTimes(self, &created, &exited, &kernel, &user) != nil {
		return time.Since(processStart)
	}
	return duration(kernel) + duration(user)
}

// duration reads a time that is given in units of 100 ns.
func duration(t syscall.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
