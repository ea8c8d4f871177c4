//go:build !linux && !darwin

package main

import (
	"errors"
	"os"
)

var errPlatform = errors.New("the CPU time of a process can be measured on Linux and macOS only")

func cpuSeconds() (float64, error)    { return 0, errPlatform }
func residentBytes() (int64, error)   { return 0, errPlatform }
func raiseFileLimit() error           { return nil }
func suspend(*os.Process, bool) error { return errPlatform }
