//go:build !unix

package bundle

// private reports whether only the user of this process can write to a
// directory. Here the default permissions ensure that.
func private(string) bool { return true }
