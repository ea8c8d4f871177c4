package keys

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des" //nolint:gosec // old keys are encrypted with it
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
)

// Private keys with a passphrase: those of PKCS #8 with PBES2 (RFC 8018), and the
// PEM blocks of before.

type encryptedKey struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

type pbes2 struct{ KDF, Cipher pkix.AlgorithmIdentifier }

type pbkdf2Params struct {
	Salt   []byte
	Rounds int
	Length int                      `asn1:"optional"`
	Hash   pkix.AlgorithmIdentifier `asn1:"optional"`
}

type scryptParams struct {
	Salt    []byte
	N, R, P int
	Length  int `asn1:"optional"`
}

var (
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
	oidScrypt = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11591, 4, 11}
	oidSHA256 = asn1.ObjectIdentifier{1, 2, 840, 113549, 2, 9} // hmacWithSHA256
)

// prfs are the hashes of PBKDF2; none is SHA-1.
var prfs = map[string]string{
	"": "sha1", "1.2.840.113549.2.7": "sha1", "1.2.840.113549.2.8": "sha224", "1.2.840.113549.2.9": "sha256",
	"1.2.840.113549.2.10": "sha384", "1.2.840.113549.2.11": "sha512",
}

// blockCipher is a cipher in CBC mode.
type blockCipher struct {
	name   string
	oid    asn1.ObjectIdentifier
	size   int // of the key
	make   func(key []byte) (cipher.Block, error)
	legacy x509.PEMCipher
}

var blockCiphers = []blockCipher{
	{"aes-128-cbc", asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 1, 2}, 16, aes.NewCipher, x509.PEMCipherAES128},
	{"aes-192-cbc", asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 1, 22}, 24, aes.NewCipher, x509.PEMCipherAES192},
	{"aes-256-cbc", asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 1, 42}, 32, aes.NewCipher, x509.PEMCipherAES256},
	{"des-ede3-cbc", asn1.ObjectIdentifier{1, 2, 840, 113549, 3, 7}, 24, des.NewTripleDESCipher, x509.PEMCipher3DES},
}

var (
	errBadDecrypt = failed("ERR_OSSL_BAD_DECRYPT", "error:1C800064:Provider routines::bad decrypt")
	errEncryption = failed("ERR_OSSL_UNSUPPORTED", "error:1E08010C:DECODER routines::unsupported: this encryption of keys is not known")
)

// decryptPEM decrypts a block of before PKCS #8.
func decryptPEM(block *pem.Block, passphrase []byte) ([]byte, error) {
	der, err := x509.DecryptPEMBlock(block, passphrase) //nolint:staticcheck // there are such keys
	if err != nil {
		return nil, errBadDecrypt
	}
	return der, nil
}

// decryptPKCS8 decrypts a key of PKCS #8.
func decryptPKCS8(der, passphrase []byte) ([]byte, error) {
	var (
		sealed encryptedKey
		scheme pbes2
		iv     []byte
	)
	if rest, err := asn1.Unmarshal(der, &sealed); err != nil || len(rest) > 0 || !sealed.Algorithm.Algorithm.Equal(oidPBES2) {
		return nil, errEncryption
	}
	if _, err := asn1.Unmarshal(sealed.Algorithm.Parameters.FullBytes, &scheme); err != nil {
		return nil, errEncryption
	}
	if _, err := asn1.Unmarshal(scheme.Cipher.Parameters.FullBytes, &iv); err != nil {
		return nil, errEncryption
	}
	for _, c := range blockCiphers {
		if !c.oid.Equal(scheme.Cipher.Algorithm) {
			continue
		}
		key, err := scheme.key(passphrase, c.size)
		if err != nil {
			return nil, err
		}
		block, err := c.make(key)
		if err != nil {
			return nil, err
		}
		if len(iv) != block.BlockSize() || len(sealed.Data) == 0 || len(sealed.Data)%block.BlockSize() != 0 {
			return nil, errBadDecrypt
		}
		out := make([]byte, len(sealed.Data))
		cipher.NewCBCDecrypter(block, iv).CryptBlocks(out, sealed.Data)
		pad := int(out[len(out)-1])
		if pad < 1 || pad > block.BlockSize() || !bytes.HasSuffix(out, bytes.Repeat([]byte{byte(pad)}, pad)) {
			return nil, errBadDecrypt
		}
		return out[:len(out)-pad], nil
	}
	return nil, errEncryption
}

// key derives the key of the cipher, as Do derives keys, with its bounds.
func (s *pbes2) key(passphrase []byte, size int) ([]byte, error) {
	w := Work{Secret: passphrase, Length: size}
	switch {
	case s.KDF.Algorithm.Equal(oidPBKDF2):
		var params pbkdf2Params
		if _, err := asn1.Unmarshal(s.KDF.Parameters.FullBytes, &params); err != nil {
			return nil, errEncryption
		}
		w.Op, w.Salt, w.Rounds, w.Hash = "pbkdf2", params.Salt, params.Rounds, prfs[params.Hash.Algorithm.String()]
	case s.KDF.Algorithm.Equal(oidScrypt):
		var params scryptParams
		if _, err := asn1.Unmarshal(s.KDF.Parameters.FullBytes, &params); err != nil {
			return nil, errEncryption
		}
		w.Op, w.Salt, w.N, w.R, w.P, w.Memory = "scrypt", params.Salt, params.N, params.R, params.P, maxMemory
	}
	out, err := Do(w)
	key, ok := out.([]byte)
	if err != nil || !ok {
		return nil, errEncryption
	}
	return key, nil
}

// rounds of PBKDF2 for the keys that are written, as in OpenSSL.
const rounds = 2048

// encrypt encrypts a private key: in PKCS #8 if the label is that of one, else as
// before it.
func encrypt(label string, der []byte, name string, passphrase []byte) (*pem.Block, error) {
	for _, c := range blockCiphers {
		if c.name != name {
			continue
		}
		if label != "PRIVATE KEY" {
			return x509.EncryptPEMBlock(rand.Reader, label, der, passphrase, c.legacy) //nolint:staticcheck // it was asked for
		}
		der, err := encryptPKCS8(der, c, passphrase)
		return &pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: der}, err
	}
	return nil, failed("ERR_CRYPTO_UNKNOWN_CIPHER", "Unknown cipher")
}

func encryptPKCS8(der []byte, c blockCipher, passphrase []byte) ([]byte, error) {
	salt := []byte(rand.Text()[:16])
	key, err := pbkdf2.Key(sha256.New, string(passphrase), salt, rounds, c.size)
	if err != nil {
		return nil, err
	}
	block, err := c.make(key)
	if err != nil {
		return nil, err
	}
	iv := make([]byte, block.BlockSize())
	_, _ = rand.Read(iv) // it does not fail
	pad := len(iv) - len(der)%len(iv)
	data := append(bytes.Clone(der), bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(data, data)
	null := asn1.RawValue{Tag: asn1.TagNull}
	var scheme pbes2
	scheme.KDF.Algorithm, scheme.Cipher.Algorithm = oidPBKDF2, c.oid
	params := pbkdf2Params{Salt: salt, Rounds: rounds, Hash: pkix.AlgorithmIdentifier{Algorithm: oidSHA256, Parameters: null}}
	if scheme.KDF.Parameters.FullBytes, err = asn1.Marshal(params); err != nil {
		return nil, err
	}
	if scheme.Cipher.Parameters.FullBytes, err = asn1.Marshal(iv); err != nil {
		return nil, err
	}
	sealed := encryptedKey{Algorithm: pkix.AlgorithmIdentifier{Algorithm: oidPBES2}, Data: data}
	if sealed.Algorithm.Parameters.FullBytes, err = asn1.Marshal(scheme); err != nil {
		return nil, err
	}
	return asn1.Marshal(sealed)
}
