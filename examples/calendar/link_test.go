package main

import _ "github.com/parley-run/parley/all" // what the command links
