package node

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// prepare says what happens when the server ends: a process that has stopped
// itself continues, and notices that.
func prepare(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGCONT }

// overhead is the memory that Node.js needs besides the heap of the code, and
// buffers that are not part of the heap.
const overhead = 256 << 20

// limit limits the memory of a process. The heap has a limit of its own, with a
// better error.
func limit(pid int, memory int64) {
	data := uint64(memory) + overhead
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: data, Max: data}, nil)
	_ = unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
}

// processorTime returns how much processor time a process has used.
func processorTime(pid int) (time.Duration, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// The second field is the name of the program, in parentheses.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, false
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, false
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return 0, false
	}
	return time.Duration(user+system) * (time.Second / ticks), true
}

// ticks is how many units of processor time the kernel counts in a second, on all
// platforms that Go supports.
const ticks = 100

// maxChildren is how many processes the code may have at a time.
const maxChildren = 256

// tooMany returns an error if a process, or those that it has started, have started
// too many others.
func tooMany(pid int) error {
	count := 0
	for left := []string{strconv.Itoa(pid)}; len(left) > 0; left = left[1:] {
		threads, _ := filepath.Glob("/proc/" + left[0] + "/task/*/children")
		for _, file := range threads {
			text, _ := os.ReadFile(file) //nolint:gosec // of a process; one that has ended has none
			children := strings.Fields(string(text))
			if count += len(children); count > maxChildren {
				return fmt.Errorf("the code has started more than %d processes that have not ended, and was stopped", maxChildren)
			}
			left = append(left, children...)
		}
	}
	return nil
}

// maxPasses is how often killMarked looks for processes: those that it ends may
// start others in the meantime.
const maxPasses = 100

// killMarked ends the processes that have a mark in their environment: those that
// have left the process group.
func killMarked(mark string) {
	for range maxPasses {
		if !killMarkedOnce(mark) {
			return
		}
	}
}

// killMarkedOnce reports whether there were any.
func killMarkedOnce(mark string) (found bool) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // of a process
		if err != nil || !bytes.Contains(text, []byte(mark)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && pid != os.Getpid() {
			found = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return found
}
