package keyring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/parley-run/parley/internal/broker/vault"
)

// The key management services that can wrap a keyset, by the prefix of their URLs.
// The service is called only when a keyset is read or written.
const (
	awsScheme = "aws-kms://"
	gcpScheme = "gcp-kms://"
)

// CheckKMS rejects the URL of a key of an unknown service.
func CheckKMS(address string) error {
	switch {
	case strings.HasPrefix(address, awsScheme+"arn:") || strings.HasPrefix(address, gcpScheme+"projects/"):
		return nil
	case strings.HasPrefix(address, awsScheme):
		return fmt.Errorf("%q is not the URL of a key: write it as %sarn:aws:kms:region:account:key/id", address, awsScheme)
	case strings.HasPrefix(address, gcpScheme):
		return fmt.Errorf("%q is not the URL of a key: write it as %sprojects/p/locations/l/keyRings/r/cryptoKeys/k", address, gcpScheme)
	}
	return fmt.Errorf("%q is not the URL of a key in a key management service: it must begin with %s or %s", address, awsScheme, gcpScheme)
}

// service returns the AEAD that wraps and unwraps keysets with a key. The caller
// must call the returned function when it is done.
func service(ctx context.Context, address string) (wrapper tink.AEADWithContext, leave func(), err error) {
	if err := CheckKMS(address); err != nil {
		return nil, nil, fmt.Errorf("vault: %w", err)
	}
	connect := connectAWS
	if strings.HasPrefix(address, gcpScheme) {
		connect = connectGCP
	}
	wrapper, leave, err = connect(ctx, address)
	if err != nil {
		return nil, nil, fmt.Errorf("vault: the key management service of %s: %w", address, err)
	}
	return wrapper, leave, nil
}

// Unwrap creates a vault from a keyset that a key management service has wrapped
// with a key.
func Unwrap(ctx context.Context, text []byte, address string) (*vault.Vault, error) {
	ctx, cancel := context.WithTimeout(ctx, unwrapWithin)
	defer cancel()
	handle, err := unwrap(ctx, text, address)
	if err != nil {
		return nil, err
	}
	return FromHandle(handle)
}

// unwrap reads a keyset that is wrapped with a key.
func unwrap(ctx context.Context, text []byte, address string) (*keyset.Handle, error) {
	wrapper, leave, err := service(ctx, address)
	if err != nil {
		return nil, err
	}
	defer leave()
	read := keyset.NewJSONReader(bytes.NewReader(text))
	if _, err := read.ReadEncrypted(); err != nil {
		return nil, errors.New("vault: the keyset is not wrapped, although a key management service is configured: " +
			"create a new one with parley credentials create, or remove the service")
	}
	handle, err := keyset.ReadWithContext(ctx, keyset.NewJSONReader(bytes.NewReader(text)), wrapper, nil)
	if err != nil {
		return nil, fmt.Errorf("vault: the key management service did not unwrap the keyset with %s: %w", address, err)
	}
	return handle, nil
}

// wrap encodes a keyset so that only the service can read it.
func wrap(ctx context.Context, handle *keyset.Handle, address string) ([]byte, error) {
	wrapper, leave, err := service(ctx, address)
	if err != nil {
		return nil, err
	}
	defer leave()
	var out bytes.Buffer
	if err := handle.WriteWithContext(ctx, keyset.NewJSONWriter(&out), wrapper, nil); err != nil {
		return nil, fmt.Errorf("vault: the key management service did not wrap the keyset with %s: %w", address, err)
	}
	return out.Bytes(), nil
}
