package arena

import "golang.org/x/sys/unix"

const adviceDiscard = unix.MADV_DONTNEED
