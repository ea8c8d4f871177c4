//go:build linux || darwin

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpuSeconds is the CPU time of this process so far.
func cpuSeconds() (float64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds(), nil
}

// residentBytes is the memory of this process that is not swapped out or given
// back. It is 0 where there is no /proc to ask.
func residentBytes() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kilobytes, _, _ := strings.Cut(rest, "kB")
	n, err := strconv.ParseInt(strings.TrimSpace(kilobytes), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("VmRSS in /proc/self/status: %w", err)
	}
	return n << 10, nil
}

// raiseFileLimit lets this process have as many connections as it may.
func raiseFileLimit() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("the limit of open files: %w", err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("the limit of open files: %w", err)
	}
	return nil
}

// suspend has a process stand still, and go on.
func suspend(p *os.Process, still bool) error {
	if still {
		return p.Signal(syscall.SIGSTOP)
	}
	return p.Signal(syscall.SIGCONT)
}
