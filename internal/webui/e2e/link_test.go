package e2e

import _ "github.com/parley-run/parley/all" // what the command links
