package public

import (
	"net/netip"
	"testing"
)

func TestIs(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "2001:4860:4860::8888": true, "::ffff:8.8.8.8": true,
		"10.2.0.1": false, "127.0.0.1": false, "::1": false, "::": false, "0.0.0.0": false, "192.168.1.1": false, "172.16.0.1": false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "fd00:ec2::254": false, "224.0.0.1": false, "ff02::1": false,
		"100.100.100.200": false, "192.0.0.192": false, "168.63.129.16": false, "255.255.255.255": false, "::ffff:127.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::7f00:1": false, "2002:7f00:1::": false, "::127.0.0.1": false, "::ffff:0:127.0.0.1": false,
		"100::1": false, "fec0::1": false, "2001:db8::1": false, "2001::1": false, "3fff::1": false, "5f00::1": false, "2620:fe::fe": true,
	} {
		if got := Is(netip.MustParseAddr(address)); got != want {
			t.Errorf("Is(%s) is %v", address, got)
		}
	}
	if Is(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestNetworks(t *testing.T) {
	allowed := Networks{netip.MustParsePrefix("10.1.0.0/16")}
	for address, want := range map[string]bool{"10.1.2.3": true, "::ffff:10.1.2.3": true, "10.2.0.1": false, "8.8.8.8": true, "127.0.0.1": false} {
		if got := allowed.Permits(netip.MustParseAddr(address)); got != want {
			t.Errorf("Permits(%s) is %v", address, got)
		}
	}
	if allowed.Contains(netip.MustParseAddr("8.8.8.8")) {
		t.Error("a public address is in the networks")
	}
}
