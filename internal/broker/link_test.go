package broker_test

import _ "github.com/parley-run/parley/credential/google" // what the command links
