//go:build unix

package node

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// leaves is the variable of a process that leaves its group.
const leaves = "NODE_TEST_LEAVES"

// A process that has left its group ends, too.
func TestKillGroup(t *testing.T) {
	if os.Getenv(leaves) != "" {
		group, err := syscall.Getpgid(os.Getppid())
		if err == nil {
			err = syscall.Setpgid(0, group)
		}
		fmt.Println("LEFT", err)
		time.Sleep(10 * time.Minute)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillGroup$")
	cmd.Env = append(os.Environ(), leaves+"=1")
	separate(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "LEFT <nil>\n" {
		t.Fatalf("the process says %q, %v", line, err)
	}
	killGroup(cmd.Process)
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the process has not ended")
		_ = cmd.Process.Kill()
		<-ended
	}
}
