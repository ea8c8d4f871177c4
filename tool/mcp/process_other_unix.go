//go:build unix && !linux

package mcp

import "syscall"

// dieWithParent does nothing: the process ends with its input.
func dieWithParent(*syscall.SysProcAttr) {}
