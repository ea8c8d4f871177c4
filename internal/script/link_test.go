//go:build !race

package script_test

import _ "github.com/parley-run/parley/all" // what the command links
