//go:build !unix

package pgtest

import (
	"errors"
	"os"
	"syscall"
)

type signal int

const (
	sigInt signal = iota
	sigQuit
	sigKill
)

type account struct{}

var errSystem = errors.New("private Postgres servers are not supported on this system")

func unprivileged() (*account, error) { return nil, errSystem }

func (*account) own(string) error { return errSystem }

func (*account) attributes() *syscall.SysProcAttr { return nil }

type process struct {
	ended chan struct{}
	err   error
}

func launch(string, string, *syscall.SysProcAttr, string, ...string) (*process, error) {
	return nil, errSystem
}

func (*process) end(signal) {}

func makeDir() (string, *os.File, error) { return "", nil, errSystem }

func sweep() {}
