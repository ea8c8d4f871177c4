//go:build !unix

package host

// descriptors is how many files and connections the process may have open.
func descriptors() int { return 4096 }
