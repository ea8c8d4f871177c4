package host

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// Certificates are read as Node.js reads them.
func TestCertificatesAgainstNode(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	page, err := url.Parse("https://page.test/a?b=c")
	if err != nil {
		t.Fatal(err)
	}
	name := pkix.Name{
		Country: []string{"NO"}, Organization: []string{`Example, "Inc" <A+B>`}, CommonName: "Ånd \\ authority",
		ExtraNames: []pkix.AttributeTypeAndValue{
			{Type: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1}, Value: "a@example.test"},
			{Type: asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}, Value: "example"},
		},
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(0x0fab), Subject: name, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Date(2024, 2, 3, 4, 5, 6, 0, time.UTC), NotAfter: time.Date(2051, 12, 13, 14, 15, 16, 0, time.UTC),
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "named.example.test"},
		NotBefore: time.Date(2024, 2, 3, 4, 5, 6, 0, time.UTC), NotAfter: time.Date(2034, 12, 13, 14, 15, 16, 0, time.UTC),
		DNSNames: []string{"api.example.test", "*.wild.example.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP("2001:db8::1")},
		EmailAddresses: []string{"b@example.test"}, URIs: []*url.URL{page},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		OCSPServer:  []string{"http://ocsp.test"}, IssuingCertificateURL: []string{"http://issuer.test/ca"},
	}
	plain := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "plain.example.test"}, NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter}
	constants := "import { X509Certificate, createPrivateKey, createPublicKey } from 'node:crypto'; import { inspect } from 'node:util';\n"
	for constant, c := range map[string]*x509.Certificate{"authority": authority, "leaf": leaf, "plain": plain} {
		der, err := x509.CreateCertificate(rand.Reader, c, authority, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		constants += fmt.Sprintf("const %sPEM = %q, %[1]s = new X509Certificate(%[1]sPEM);\n", constant, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	constants += fmt.Sprintf("const key = createPrivateKey(%q);\n", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	const members = "subject issuer subjectAltName infoAccess validFrom validTo fingerprint fingerprint256 fingerprint512 keyUsage serialNumber ca"
	var codes []string
	for _, c := range []string{"authority", "leaf", "plain"} {
		codes = append(codes,
			fmt.Sprintf(`%q.split(" ").map((name) => [name, %s[name]])`, members, c),
			fmt.Sprintf(`[%s.toString() === %[1]sPEM, JSON.stringify(%[1]s), %[1]s.raw.toString("hex"), inspect(%[1]s)]`, c),
			fmt.Sprintf(`[%s.publicKey.type, %[1]s.publicKey.equals(createPublicKey(key)), new X509Certificate(%[1]s.raw).serialNumber]`, c),
			fmt.Sprintf(`["api.example.test", "API.example.test", "x.wild.example.test", "x.y.wild.example.test", "named.example.test", "plain.example.test"].map((name) => %s.checkHost(name) ?? "no")`, c),
			fmt.Sprintf(`["127.0.0.1", "2001:db8::1", "2001:db8:0::1", "1.2.3.4"].map((ip) => %s.checkIP(ip) ?? "no")`, c),
			fmt.Sprintf(`["b@example.test", "c@example.test"].map((one) => %s.checkEmail(one) ?? "no")`, c),
			fmt.Sprintf(`[%s.checkIssued(authority), %[1]s.checkIssued(leaf), %[1]s.verify(authority.publicKey), %[1]s.checkPrivateKey(key)]`, c),
		)
	}
	codes = append(codes, `new X509Certificate("x")`)
	for _, wrong := range []string{`new X509Certificate(1)`, `leaf.checkIssued({})`, `leaf.verify(key)`, `leaf.checkPrivateKey(leaf.publicKey)`} {
		codes = append(codes, `try { return `+wrong+`; } catch (error) { return error.name + error.code; }`)
	}
	compareWithNode(t, constants, codes...)
}

// Keys with a passphrase are read and written as in Node.js.
func TestPassphrasesAgainstNode(t *testing.T) {
	t.Parallel()
	const imports = `import { createPrivateKey, createPublicKey, createSign, createVerify, generateKeyPairSync } from "node:crypto";`
	const generate = `
		const made = {};
		for (const [kind, type, options] of [["rsa", "pkcs1", { modulusLength: 2048 }], ["ec", "sec1", { namedCurve: "P-256" }], ["ed25519", "pkcs8", {}]]) {
			const { privateKey } = generateKeyPairSync(kind, options);
			made[kind] = privateKey.export({ format: "jwk" });
			for (const cipher of ["aes-128-cbc", "aes-192-cbc", "aes-256-cbc", "des-ede3-cbc"]) {
				made[kind + " pkcs8 " + cipher] = privateKey.export({ format: "pem", type: "pkcs8", cipher, passphrase: "a pass phrase" });
				made[kind + " der " + cipher] = privateKey.export({ format: "der", type: "pkcs8", cipher, passphrase: "a pass phrase" }).toString("base64");
				made[kind + " older " + cipher] = privateKey.export({ format: "pem", type, cipher, passphrase: Buffer.from("a pass phrase") });
			}
		}`
	const read = `
		const out = [];
		for (const [name, text] of Object.entries(made)) {
			const [kind, form] = name.split(" ");
			if (!form) continue;
			const source = form === "der" ? { key: Buffer.from(text, "base64"), format: "der", type: "pkcs8" } : { key: text };
			const same = (jwk) => jwk.d === made[kind].d && jwk.x === made[kind].x && jwk.n === made[kind].n;
			const tell = (fn) => { try { return fn(); } catch (error) { return error.name + " " + error.code; } };
			out.push([name,
				tell(() => same(createPrivateKey({ ...source, passphrase: "a pass phrase" }).export({ format: "jwk" }))),
				tell(() => createPublicKey({ ...source, passphrase: "a pass phrase" }).asymmetricKeyType),
				form === "der" ? "" : tell(() => createPrivateKey(source).type),
				form === "der" ? "" : tell(() => createPrivateKey({ ...source, passphrase: "wrong" }).type) === "private",
			].join());
			if (kind !== "ed25519") {
				const signature = createSign("sha256").update("text").sign({ ...source, passphrase: "a pass phrase" });
				out.push(createVerify("sha256").update("text").verify(createPublicKey({ key: made[kind], format: "jwk" }), signature));
			}
		}`
	dir := t.TempDir()
	file := filepath.Join(dir, "main.mjs")
	if err := os.WriteFile(file, []byte(imports+generate+"\nconsole.log(JSON.stringify(made));"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, made := range map[string]string{
		"keys of Node.js": nodejs.Run(t, dir, nodejs.Node(t), "--min-semi-space-size=64", "--max-semi-space-size=64", file),
		"keys of ours":    newSandbox(t, Options{}, imports, generate+"\nreturn made;").must(t, map[string]any{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareWithNode(t, imports+"\nconst made = "+made+";", read+"\nreturn out;")
		})
	}
}
