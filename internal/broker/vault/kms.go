package vault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// The key management services that can wrap a keyset, by how the addresses of
// their keys begin. The service is asked when a keyset is read or written, and
// for nothing else.
const (
	awsScheme = "aws-kms://"
	gcpScheme = "gcp-kms://"
)

// CheckKMS refuses the address of a key that no service is known for.
func CheckKMS(address string) error {
	switch {
	case strings.HasPrefix(address, awsScheme+"arn:") || strings.HasPrefix(address, gcpScheme+"projects/"):
		return nil
	case strings.HasPrefix(address, awsScheme):
		return fmt.Errorf("%q is not the address of a key: write it as %sarn:aws:kms:region:account:key/id", address, awsScheme)
	case strings.HasPrefix(address, gcpScheme):
		return fmt.Errorf("%q is not the address of a key: write it as %sprojects/p/locations/l/keyRings/r/cryptoKeys/k", address, gcpScheme)
	}
	return fmt.Errorf("%q is not the address of a key in a key management service: it begins with %s or %s", address, awsScheme, gcpScheme)
}

// service finds what wraps and unwraps keysets with a key. It has to be left when
// it is not needed any more.
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

// Unwrap makes a vault of a keyset that a key management service has wrapped with
// a key.
func Unwrap(ctx context.Context, text []byte, address string) (*Vault, error) {
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
			"make a new one with parley credentials create, or leave the service out")
	}
	handle, err := keyset.ReadWithContext(ctx, keyset.NewJSONReader(bytes.NewReader(text)), wrapper, nil)
	if err != nil {
		return nil, fmt.Errorf("vault: the key management service does not unwrap the keyset with %s: %w", address, err)
	}
	return handle, nil
}

// wrap writes a keyset so that only the service can read it.
func wrap(ctx context.Context, handle *keyset.Handle, address string) ([]byte, error) {
	wrapper, leave, err := service(ctx, address)
	if err != nil {
		return nil, err
	}
	defer leave()
	var out bytes.Buffer
	if err := handle.WriteWithContext(ctx, keyset.NewJSONWriter(&out), wrapper, nil); err != nil {
		return nil, fmt.Errorf("vault: the key management service does not wrap the keyset with %s: %w", address, err)
	}
	return out.Bytes(), nil
}
