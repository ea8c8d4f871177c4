package access

import _ "github.com/parley-run/parley/credential/openid" // what the command links
