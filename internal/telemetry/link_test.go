package telemetry_test

import _ "github.com/parley-run/parley/otlp" // what the command links
