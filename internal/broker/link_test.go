package broker_test

import ( // what the command links
	_ "github.com/parley-run/parley/credential/google"
	_ "github.com/parley-run/parley/credential/openid"
)
