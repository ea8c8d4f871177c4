//go:build kms

package keyring

import (
	"context"
	"errors"
	"strings"

	"github.com/tink-crypto/tink-go-awskms/v3/integration/awskms"
	"github.com/tink-crypto/tink-go-gcpkms/v2/integration/gcpkms"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// gcpOptions are for tests; AWS is configured by its environment.
var gcpOptions []gcpkms.Option

func connectAWS(ctx context.Context, address string) (tink.AEADWithContext, func(), error) {
	wrapper, err := awskms.NewAEADWithContext(ctx, strings.TrimPrefix(address, awsScheme))
	return wrapper, func() {}, err
}

func connectGCP(ctx context.Context, address string) (tink.AEADWithContext, func(), error) {
	client, err := gcpkms.NewClient(ctx, address, gcpOptions...)
	if err != nil {
		return nil, nil, err
	}
	leave := func() { _ = client.Close() } // the result is not used
	found, err := client.GetAEAD(address)
	if err != nil {
		leave()
		return nil, nil, err
	}
	wrapper, ok := found.(tink.AEADWithContext)
	if !ok {
		leave()
		return nil, nil, errors.New("its client cannot be interrupted")
	}
	return wrapper, leave, nil
}
