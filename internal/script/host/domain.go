package host

import "golang.org/x/net/idna"

// domains reads names of hosts as the URL Standard says: UTS #46 without the rules
// of hosts and without limits of length.
var domains = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.CheckJoiners(true),
	idna.CheckHyphens(false), idna.StrictDomainName(false), idna.VerifyDNSLength(false))

// maxDomain is the length of the longest name in bytes. Names of hosts have 253, and
// the time that Punycode takes grows with the square of it.
const maxDomain = 4096

// domain returns the ASCII form of a name; empty if it is not valid.
func domain(params struct{ Name string }) (any, error) {
	if len(params.Name) > maxDomain {
		return "", nil
	}
	name, err := domains.ToASCII(params.Name)
	if err != nil {
		return "", nil //nolint:nilerr // JavaScript has the error for it
	}
	return name, nil
}
