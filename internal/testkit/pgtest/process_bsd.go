//go:build unix && !linux

package pgtest

import "syscall"

// diesWithParent would, if the system could.
func diesWithParent(*syscall.SysProcAttr) {}
