//go:build !race

package cli

import _ "github.com/parley-run/parley/all" // what the command links
