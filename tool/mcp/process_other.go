//go:build !unix

package mcp

import "os/exec"

func isolate(*exec.Cmd) {}

func killAll(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
