//go:build kms

package vault

import (
	"context"
	"strings"

	"github.com/tink-crypto/tink-go-awskms/v3/integration/awskms"
	"github.com/tink-crypto/tink-go-gcpkms/v2/integration/gcpkms"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// gcpOptions are for tests; AWS can be led elsewhere by its environment.
var gcpOptions []gcpkms.Option

func connectAWS(ctx context.Context, address string) (tink.AEADWithContext, error) {
	return awskms.NewAEADWithContext(ctx, strings.TrimPrefix(address, awsScheme))
}

func connectGCP(ctx context.Context, address string) (tink.AEADWithContext, error) {
	return gcpkms.GetAEADWithContext(ctx, address, gcpOptions...)
}
