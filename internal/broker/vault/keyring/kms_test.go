package keyring_test

import (
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/broker/vault/keyring"
)

func TestCheckKMS(t *testing.T) {
	for _, good := range []string{"aws-kms://arn:aws:kms:eu-west-1:1:key/k", "gcp-kms://projects/p/locations/l/keyRings/r/cryptoKeys/k"} {
		if err := keyring.CheckKMS(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		"arn:aws:kms:eu-west-1:1:key/k": "begin with aws-kms://", "aws-kms://alias/x": "aws-kms://arn:", "gcp-kms://p": "gcp-kms://projects/",
		"hcvault://x": "must begin with",
	} {
		if err := keyring.CheckKMS(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
