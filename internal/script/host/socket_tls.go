package host

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // fingerprints of certificates as Node.js has them
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-run/parley/internal/script/host/keys"
)

// tlsRequest is what JavaScript asks of TLS.
type tlsRequest struct {
	Servername string   `json:"servername"`
	CA         []string `json:"ca"` // PEM, in place of the authorities of the system
	Cert       string   `json:"cert"`
	Key        string   `json:"key"`
	ALPN       []string `json:"alpn"`
	MinVersion string   `json:"minVersion"`
	MaxVersion string   `json:"maxVersion"`
	Unverified bool     `json:"unverified"` // rejectUnauthorized is false
	AnyName    bool     `json:"anyName"`    // JavaScript compares the name itself
}

type tlsHead struct {
	Authorized bool         `json:"authorized"`
	Error      string       `json:"error,omitempty"` // the code
	Protocol   string       `json:"protocol"`
	Cipher     string       `json:"cipher"`
	ALPN       string       `json:"alpn,omitempty"`
	Resumed    bool         `json:"resumed"`
	Peer       *certificate `json:"peer,omitempty"`
}

// certificate has the members that Node.js gives it.
type certificate struct {
	Subject        map[string]string `json:"subject"`
	Issuer         map[string]string `json:"issuer"`
	SubjectAltName string            `json:"subjectaltname,omitempty"`
	ValidFrom      string            `json:"valid_from"`
	ValidTo        string            `json:"valid_to"`
	Fingerprint    string            `json:"fingerprint"`
	Fingerprint256 string            `json:"fingerprint256"`
	SerialNumber   string            `json:"serialNumber"`
	CA             bool              `json:"ca"`
	Raw            string            `json:"raw"` // base64
}

var tlsVersions = map[string]uint16{
	"TLSv1": tls.VersionTLS10, "TLSv1.1": tls.VersionTLS11, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13,
}

// upgrade starts TLS on a socket that is open.
func (h *Host) upgrade(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var m struct {
		Socket int64      `json:"socket"`
		TLS    tlsRequest `json:"tls"`
	}
	if err := json.Unmarshal(params, &m); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	s, err := h.sockets.get(m.Socket, "socket")
	if err != nil {
		return err
	}
	// What reads the socket returns, and waits behind the handshake.
	conn := s.current()
	_ = conn.SetReadDeadline(time.Unix(1, 0))
	s.reading.Lock()
	_ = conn.SetReadDeadline(time.Time{})
	head, err := s.secure(ctx, m.TLS)
	s.reading.Unlock()
	if err != nil {
		s.close()
		return err
	}
	s.idle.Reset(h.sockets.idle)
	return yield(head)
}

// secure makes a socket one with TLS. Nothing else may use it in the meantime.
func (s *socket) secure(ctx context.Context, m tlsRequest) (*tlsHead, error) {
	head := &tlsHead{}
	config, err := m.config(head)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(s.current(), config)
	ctx, cancel := context.WithTimeout(ctx, maxDial)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		if wrong, ok := errors.AsType[*codedError](err); ok {
			return nil, wrong // of verify
		}
		return nil, networkError(err)
	}
	state := conn.ConnectionState()
	head.Protocol, head.Cipher = strings.Replace(tls.VersionName(state.Version), "TLS ", "TLSv", 1), tls.CipherSuiteName(state.CipherSuite)
	head.ALPN, head.Resumed = state.NegotiatedProtocol, state.DidResume
	if len(state.PeerCertificates) > 0 {
		head.Peer = describe(state.PeerCertificates[0])
	}
	s.replace(conn)
	return head, nil
}

func (m tlsRequest) config(head *tlsHead) (*tls.Config, error) {
	var roots *x509.CertPool
	if len(m.CA) > 0 {
		roots = x509.NewCertPool()
		for _, pem := range m.CA {
			if !roots.AppendCertsFromPEM([]byte(pem)) {
				return nil, coded("ERR_OSSL_PEM_NO_START_LINE", "ca contains no certificate in PEM form")
			}
		}
	}
	config := &tls.Config{
		ServerName: m.Servername, NextProtos: m.ALPN,
		MinVersion: max(tlsVersions[m.MinVersion], tls.VersionTLS12), MaxVersion: tlsVersions[m.MaxVersion],
		// VerifyConnection checks the certificate: Node.js tells programs what is
		// wrong with one that they accept.
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyConnection: func(state tls.ConnectionState) error {
			name := m.Servername
			if m.AnyName {
				name = ""
			}
			err := verify(state.PeerCertificates, roots, name)
			head.Authorized = err == nil
			if c, ok := errors.AsType[*codedError](err); ok {
				head.Error = c.code
			}
			if m.Unverified {
				return nil
			}
			return err
		},
	}
	if m.Cert != "" && m.Key != "" {
		pair, err := tls.X509KeyPair([]byte(m.Cert), []byte(m.Key))
		if err != nil {
			return nil, coded("ERR_OSSL_X509_KEY_VALUES_MISMATCH", "cert and key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// verify checks a chain; if name is empty, for any name.
func verify(chain []*x509.Certificate, roots *x509.CertPool, name string) error {
	if len(chain) == 0 {
		return coded("UNABLE_TO_GET_ISSUER_CERT", "the server has no certificate")
	}
	options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool(), DNSName: name}
	for _, c := range chain[1:] {
		options.Intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(options)
	if err == nil {
		return nil
	}
	code := "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	_, isName := errors.AsType[x509.HostnameError](err)
	last := chain[len(chain)-1]
	switch {
	case isName:
		code = "ERR_TLS_CERT_ALTNAME_INVALID"
	case isInvalid && invalid.Reason == x509.Expired:
		code = "CERT_HAS_EXPIRED"
	case isInvalid:
		code = "CERT_INVALID"
	case bytes.Equal(last.RawIssuer, last.RawSubject) && len(chain) == 1:
		code = "DEPTH_ZERO_SELF_SIGNED_CERT"
	case bytes.Equal(last.RawIssuer, last.RawSubject):
		code = "SELF_SIGNED_CERT_IN_CHAIN"
	}
	return &codedError{code, err}
}

func describe(c *x509.Certificate) *certificate {
	sum1, sum256 := sha1.Sum(c.Raw), sha256.Sum256(c.Raw) //nolint:gosec // see the import
	return &certificate{
		Subject: nameOf(c.Subject), Issuer: nameOf(c.Issuer), SubjectAltName: keys.AltNames(c),
		ValidFrom: c.NotBefore.UTC().Format(keys.CertificateTime), ValidTo: c.NotAfter.UTC().Format(keys.CertificateTime),
		Fingerprint: keys.Colons(sum1[:]), Fingerprint256: keys.Colons(sum256[:]),
		SerialNumber: keys.Serial(c), CA: c.IsCA, Raw: base64.StdEncoding.EncodeToString(c.Raw),
	}
}

func nameOf(n pkix.Name) map[string]string {
	out := map[string]string{}
	for key, values := range map[string][]string{"C": n.Country, "ST": n.Province, "L": n.Locality, "O": n.Organization, "OU": n.OrganizationalUnit, "CN": {n.CommonName}} {
		if text := strings.Join(values, "\n"); text != "" {
			out[key] = text
		}
	}
	return out
}
