//go:build unix && !linux

package chaos

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }
