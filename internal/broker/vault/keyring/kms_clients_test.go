//go:build kms

package keyring

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/kms/apiv1/kmspb"
	"github.com/tink-crypto/tink-go-gcpkms/v2/integration/gcpkms"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/parley-run/parley/internal/broker/vault"
)

// masked is the cipher of the services here: what matters is who calls whom.
func masked(b []byte) []byte {
	out := bytes.Clone(b)
	for i := range out {
		out[i] ^= 0x5a
	}
	return out
}

const awsKey = "arn:aws:kms:eu-west-1:123456789012:key/1234"

// startAWS is AWS KMS, as far as wrapping goes: its JSON protocol over HTTP.
func startAWS(t *testing.T, calls *atomic.Int32) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		var in struct {
			KeyID                     string `json:"KeyId"`
			Plaintext, CiphertextBlob []byte
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		if json.NewDecoder(r.Body).Decode(&in) != nil || in.KeyID != awsKey || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"__type":"NotFoundException","message":"no such key"}`))
			return
		}
		out := map[string]any{"KeyId": in.KeyID}
		if r.Header.Get("X-Amz-Target") == "TrentService.Encrypt" {
			out["CiphertextBlob"] = masked(in.Plaintext)
		} else {
			out["Plaintext"] = masked(in.CiphertextBlob)
		}
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(srv.Close)
	t.Setenv("AWS_ENDPOINT_URL_KMS", srv.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
}

const gcpKey = "projects/p/locations/l/keyRings/r/cryptoKeys/k"

// gcpService is Cloud KMS, as far as wrapping goes.
type gcpService struct {
	kmspb.UnimplementedKeyManagementServiceServer
	calls *atomic.Int32
}

func sum(b []byte) *wrapperspb.Int64Value {
	return wrapperspb.Int64(int64(crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))))
}

func (s *gcpService) Encrypt(_ context.Context, in *kmspb.EncryptRequest) (*kmspb.EncryptResponse, error) {
	s.calls.Add(1)
	if in.GetName() != gcpKey {
		return nil, errors.New("no such key")
	}
	out := masked(in.GetPlaintext())
	return &kmspb.EncryptResponse{
		Name: in.GetName(), Ciphertext: out, CiphertextCrc32C: sum(out),
		VerifiedPlaintextCrc32C: true, VerifiedAdditionalAuthenticatedDataCrc32C: true,
	}, nil
}

func (s *gcpService) Decrypt(_ context.Context, in *kmspb.DecryptRequest) (*kmspb.DecryptResponse, error) {
	s.calls.Add(1)
	if in.GetName() != gcpKey {
		return nil, errors.New("no such key")
	}
	out := masked(in.GetCiphertext())
	return &kmspb.DecryptResponse{Plaintext: out, PlaintextCrc32C: sum(out)}, nil
}

func startGCP(t *testing.T, calls *atomic.Int32) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	kmspb.RegisterKeyManagementServiceServer(srv, &gcpService{calls: calls})
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(listener) }()
	gcpOptions = []gcpkms.Option{gcpkms.WithGoogleAPIClientOptions(
		option.WithEndpoint(listener.Addr().String()), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
	)}
	t.Cleanup(func() { srv.Stop(); <-done; gcpOptions = nil })
}

// The real clients talk to services that speak as the real ones do. A service is
// asked when a keyset is read or written, and never to seal or open.
func TestKMS(t *testing.T) {
	for name, service := range map[string]struct {
		start func(*testing.T, *atomic.Int32)
		key   string
		wrong string
	}{
		"aws": {startAWS, awsScheme + awsKey, awsScheme + awsKey + "5"},
		"gcp": {startGCP, gcpScheme + gcpKey, gcpScheme + gcpKey + "5"},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			service.start(t, &calls)
			file := File{Path: filepath.Join(t.TempDir(), "keys.json"), KMS: service.key}
			v, err := file.Create(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file.Path)
			if err != nil || !bytes.Contains(text, []byte("encryptedKeyset")) {
				t.Fatalf("the file has %s, %v", text, err)
			}
			asked := calls.Load()
			sealed, err := v.Seal([]byte("secret"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if calls.Load() != asked {
				t.Error("the service is asked to seal")
			}
			if err := file.Rotate(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, way := range []func() (*vault.Vault, error){
				func() (*vault.Vault, error) { return v, nil },
				func() (*vault.Vault, error) { return file.Open(t.Context()) },
				func() (*vault.Vault, error) {
					text, err := os.ReadFile(file.Path)
					if err != nil {
						return nil, err
					}
					return Unwrap(t.Context(), text, file.KMS)
				},
			} {
				again, err := way()
				if err != nil {
					t.Fatal(err)
				}
				if plain, err := again.Open(sealed, nil); err != nil || string(plain) != "secret" || !again.Stale(sealed) {
					t.Errorf("opened %q, %v", plain, err)
				}
			}
			if _, err := (File{Path: file.Path, KMS: service.wrong}).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "does not unwrap") {
				t.Errorf("with another key: %v", err)
			}
			if _, err := (File{Path: file.Path}).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "--credential_kms") {
				t.Errorf("without the service: %v", err)
			}
			open := File{Path: filepath.Join(t.TempDir(), "keys.json")}
			if err := open.New(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := (File{Path: open.Path, KMS: service.key}).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "not wrapped") {
				t.Errorf("a keyset in clear: %v", err)
			}
		})
	}
}
