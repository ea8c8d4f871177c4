//go:build unix && !linux

package mcp

import "syscall"

// dieWithParent leaves it to the process to end with its input.
func dieWithParent(*syscall.SysProcAttr) {}
