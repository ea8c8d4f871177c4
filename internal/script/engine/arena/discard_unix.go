//go:build unix && !linux

package arena

import "golang.org/x/sys/unix"

const adviceDiscard = unix.MADV_FREE // elsewhere, the other does nothing for such memory
