package keys

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // Node.js has this fingerprint, too
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Certificate has the members that X509Certificate of Node.js has.
type Certificate struct {
	Subject        string   `json:"subject"`
	Issuer         string   `json:"issuer"`
	SubjectAltName string   `json:"subjectAltName,omitempty"`
	InfoAccess     string   `json:"infoAccess,omitempty"`
	ValidFrom      string   `json:"validFrom"`
	ValidTo        string   `json:"validTo"`
	Fingerprint    string   `json:"fingerprint"`
	Fingerprint256 string   `json:"fingerprint256"`
	Fingerprint512 string   `json:"fingerprint512"`
	KeyUsage       []string `json:"keyUsage,omitempty"`
	SerialNumber   string   `json:"serialNumber"`
	CA             bool     `json:"ca"`
	DER            []byte   `json:"der"`
	PEM            string   `json:"pem"`
	Key            *Key     `json:"key"`
}

// ReadCertificate reads a certificate in PEM or DER form.
func ReadCertificate(m struct {
	Data []byte `json:"data"`
},
) (any, error) {
	der := m.Data
	if len(der) == 0 || der[0] != 0x30 { // a sequence
		block, _ := pem.Decode(der)
		if block == nil || !strings.HasSuffix(block.Type, "CERTIFICATE") {
			return nil, failed("ERR_OSSL_PEM_NO_START_LINE", "error:0480006C:PEM routines::no start line")
		}
		der = block.Bytes
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, failed("ERR_OSSL_ASN1_WRONG_TAG", "the bytes are not a certificate: %v", err)
	}
	key, err := describe(c.PublicKey)
	if err != nil {
		return nil, err
	}
	sum1, sum256, sum512 := sha1.Sum(c.Raw), sha256.Sum256(c.Raw), sha512.Sum512(c.Raw) //nolint:gosec // see the import
	out := Certificate{
		Subject: distinguished(c.Subject), Issuer: distinguished(c.Issuer), SubjectAltName: AltNames(c),
		ValidFrom: c.NotBefore.UTC().Format(CertificateTime), ValidTo: c.NotAfter.UTC().Format(CertificateTime),
		Fingerprint: Colons(sum1[:]), Fingerprint256: Colons(sum256[:]), Fingerprint512: Colons(sum512[:]),
		SerialNumber: Serial(c), CA: c.IsCA, DER: c.Raw, Key: key,
		PEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})),
	}
	for _, e := range c.Extensions {
		if oids := []asn1.ObjectIdentifier{}; e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 37}) {
			if _, err := asn1.Unmarshal(e.Value, &oids); err == nil {
				for _, oid := range oids {
					out.KeyUsage = append(out.KeyUsage, oid.String())
				}
			}
		}
	}
	var access []string
	for _, server := range c.OCSPServer {
		access = append(access, "OCSP - URI:"+quoted(server))
	}
	for _, issuer := range c.IssuingCertificateURL {
		access = append(access, "CA Issuers - URI:"+quoted(issuer))
	}
	out.InfoAccess = strings.Join(access, "\n")
	return out, nil
}

// CertificateTime is how Node.js writes the times of certificates.
const CertificateTime = "Jan _2 15:04:05 2006 GMT"

// Colons writes bytes as fingerprints are written.
func Colons(sum []byte) string { return strings.ReplaceAll(fmt.Sprintf("% X", sum), " ", ":") }

// Serial is the serial number of a certificate.
func Serial(c *x509.Certificate) string {
	if c.SerialNumber.Sign() == 0 {
		return "00"
	}
	return fmt.Sprintf("%X", c.SerialNumber.Bytes())
}

var attributes = map[string]string{
	"2.5.4.3": "CN", "2.5.4.4": "SN", "2.5.4.5": "serialNumber", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.9": "street",
	"2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.12": "title", "2.5.4.17": "postalCode", "2.5.4.42": "GN", "2.5.4.97": "organizationIdentifier",
	"0.9.2342.19200300.100.1.1": "UID", "0.9.2342.19200300.100.1.25": "DC", "1.2.840.113549.1.9.1": "emailAddress",
}

var escapes = strings.NewReplacer(`,`, `\,`, `+`, `\+`, `"`, `\"`, `\`, `\\`, `<`, `\<`, `>`, `\>`, `;`, `\;`, "\n", `\0A`, "\r", `\0D`, "\x00", `\00`)

// distinguished writes a name in lines, as OpenSSL does for Node.js.
func distinguished(n pkix.Name) string {
	lines := make([]string, len(n.Names))
	for i, a := range n.Names {
		name := a.Type.String()
		if short := attributes[name]; short != "" {
			name = short
		}
		lines[i] = name + "=" + escapes.Replace(fmt.Sprint(a.Value))
	}
	return strings.Join(lines, "\n")
}

// AltNames lists the names of a certificate's subject, in its order.
func AltNames(c *x509.Certificate) string {
	var names []string
	for _, e := range c.Extensions {
		var all []asn1.RawValue
		if !e.Id.Equal(oidAltNames) {
			continue
		}
		if _, err := asn1.Unmarshal(e.Value, &all); err != nil {
			continue
		}
		for _, v := range all {
			switch v.Tag {
			case 1:
				names = append(names, "email:"+quoted(string(v.Bytes)))
			case 2:
				names = append(names, "DNS:"+quoted(string(v.Bytes)))
			case 6:
				names = append(names, "URI:"+quoted(string(v.Bytes)))
			case 7:
				names = append(names, "IP Address:"+address(v.Bytes))
			}
		}
	}
	return strings.Join(names, ", ")
}

// address writes an address without abbreviation, as OpenSSL does.
func address(ip net.IP) string {
	if len(ip) != net.IPv6len {
		return ip.String()
	}
	parts := make([]string, len(ip)/2)
	for i := range parts {
		parts[i] = fmt.Sprintf("%X", int(ip[2*i])<<8|int(ip[2*i+1]))
	}
	return strings.Join(parts, ":")
}

var oidAltNames = asn1.ObjectIdentifier{2, 5, 29, 17}

// quoted quotes a name that could be taken for several.
func quoted(name string) string {
	plain := !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`",'\`, r) })
	if plain {
		return name
	}
	return strconv.Quote(name)
}

// Check is a question about a certificate.
type Check struct {
	DER   []byte `json:"der"`
	Host  string `json:"host"` // or IP, Email, Issuer, Key: one of them
	IP    string `json:"ip"`
	Email string `json:"email"`
	// Issuer is another certificate, which may have issued this one.
	Issuer []byte `json:"issuer"`
	Key    *Key   `json:"key"` // with a private one, whether it is that of the certificate
}

// CheckCertificate answers a question: with the name that fits, or whether it is so.
func CheckCertificate(m Check) (any, error) {
	c, err := x509.ParseCertificate(m.DER)
	if err != nil {
		return nil, failed("ERR_INVALID_ARG_VALUE", "the bytes are not a certificate: %v", err)
	}
	switch {
	case m.Host != "":
		names := c.DNSNames
		if len(names) == 0 && c.Subject.CommonName != "" {
			names = []string{c.Subject.CommonName}
		}
		for _, name := range names {
			one := x509.Certificate{DNSNames: []string{name}, Extensions: []pkix.Extension{{Id: oidAltNames}}}
			if one.VerifyHostname(m.Host) == nil {
				return name, nil
			}
		}
	case m.IP != "":
		if slices.ContainsFunc(c.IPAddresses, net.ParseIP(m.IP).Equal) {
			return m.IP, nil
		}
	case m.Email != "":
		if slices.Contains(c.EmailAddresses, m.Email) {
			return m.Email, nil
		}
	case len(m.Issuer) > 0:
		issuer, err := x509.ParseCertificate(m.Issuer)
		known := err == nil && len(c.AuthorityKeyId) > 0 && len(issuer.SubjectKeyId) > 0
		return err == nil && bytes.Equal(c.RawIssuer, issuer.RawSubject) && (!known || bytes.Equal(c.AuthorityKeyId, issuer.SubjectKeyId)), nil
	case m.Key != nil:
		key, err := m.Key.open()
		if err != nil {
			return nil, err
		}
		if m.Key.Type == "private" {
			mine, err := describe(key)
			if err != nil {
				return nil, err
			}
			public, err := Import(Source{Format: "der", Type: "pkcs8", Data: mine.DER, Public: true})
			if err != nil {
				return nil, err
			}
			theirs, err := describe(c.PublicKey)
			own, ok := public.(*Key)
			return err == nil && ok && bytes.Equal(own.DER, theirs.DER), nil
		}
		signer := x509.Certificate{PublicKey: key}
		return signer.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil, nil
	}
	return nil, nil
}
