package keys

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/subtle"
	"encoding/binary"
	"errors"
)

var (
	errAuth  = errors.New("Unsupported state or unable to authenticate data") //nolint:staticcheck // as in Node.js
	errBlock = failed("ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH", "error:1C80006B:Provider routines::wrong final block length")
)

// Blocks is a piece of a message that is encrypted or decrypted with AES.
type Blocks struct {
	Mode    string `json:"mode"` // ecb, cbc, ctr, gcm or wrap
	Key     []byte `json:"key"`
	IV      []byte `json:"iv"`
	Decrypt bool   `json:"decrypt"`
	At      int64  `json:"at"` // where Data is in the message, in ctr and gcm
	Data    []byte `json:"data"`
	// At the end of a message in gcm Data is all of it, in clear.
	AAD []byte `json:"aad"`
	Tag int    `json:"tag"` // bytes
}

func (b *Blocks) block() (cipher.Block, error) {
	block, err := aes.NewCipher(b.Key)
	if err != nil {
		return nil, failed("ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length")
	}
	return block, nil
}

// Crypt encrypts or decrypts a piece. In ecb and cbc it has whole blocks; the next
// piece has the last block of the cipher text as its IV.
func Crypt(b Blocks) (any, error) {
	block, err := b.block()
	if err != nil {
		return nil, err
	}
	out := make([]byte, len(b.Data))
	switch b.Mode {
	case "ecb", "cbc":
		if len(b.Data)%aes.BlockSize != 0 {
			return nil, errBlock
		}
		if b.Mode == "ecb" {
			one := block.Encrypt
			if b.Decrypt {
				one = block.Decrypt
			}
			for i := 0; i < len(out); i += aes.BlockSize {
				one(out[i:], b.Data[i:])
			}
			return out, nil
		}
		if len(b.IV) != aes.BlockSize {
			return nil, errIV
		}
		mode := cipher.NewCBCEncrypter(block, b.IV)
		if b.Decrypt {
			mode = cipher.NewCBCDecrypter(block, b.IV)
		}
		mode.CryptBlocks(out, b.Data)
		return out, nil
	case "ctr":
		if len(b.IV) != aes.BlockSize {
			return nil, errIV
		}
		return b.stream(block, b.IV, false)
	case "gcm":
		first, err := counter(block, b.IV)
		if err != nil {
			return nil, err
		}
		return b.stream(block, first, true)
	case "wrap":
		if b.Decrypt {
			return unwrap(block, b.Data)
		}
		return wrapKey(block, b.Data)
	}
	return nil, failed("ERR_CRYPTO_UNKNOWN_CIPHER", "Unknown cipher")
}

var errIV = failed("ERR_CRYPTO_INVALID_IV", "Invalid initialization vector")

// stream adds the key stream from position At on. The counter of gcm has four bytes
// and begins after the given one.
func (b *Blocks) stream(block cipher.Block, first []byte, gcm bool) (any, error) {
	if b.At < 0 || b.At > 1<<36-1<<20 {
		return nil, failed("ERR_OUT_OF_RANGE", "the message is too long")
	}
	start := append([]byte(nil), first...)
	skip := uint64(b.At) / aes.BlockSize
	if gcm {
		low := binary.BigEndian.Uint32(start[12:])
		binary.BigEndian.PutUint32(start[12:], low+uint32(skip)+1) // it wraps around, by definition
	} else {
		low, high := binary.BigEndian.Uint64(start[8:]), binary.BigEndian.Uint64(start[:8])
		sum := low + skip
		if sum < low {
			high++
		}
		binary.BigEndian.PutUint64(start[8:], sum)
		binary.BigEndian.PutUint64(start[:8], high)
	}
	key := cipher.NewCTR(block, start)
	var rest [aes.BlockSize]byte
	key.XORKeyStream(rest[:b.At%aes.BlockSize], rest[:b.At%aes.BlockSize])
	out := make([]byte, len(b.Data))
	key.XORKeyStream(out, b.Data)
	return out, nil
}

// counter returns the first counter block of gcm for an IV of any size: the tag of
// an empty message is that block, encrypted.
func counter(block cipher.Block, iv []byte) ([]byte, error) {
	if len(iv) == 0 {
		return nil, errIV
	}
	mode, err := cipher.NewGCMWithNonceSize(block, len(iv))
	if err != nil {
		return nil, errIV
	}
	first := make([]byte, aes.BlockSize)
	block.Decrypt(first, mode.Seal(nil, iv, nil, nil))
	return first, nil
}

// Tag returns the authentication tag of a whole message in gcm.
func Tag(b Blocks) (any, error) {
	block, err := b.block()
	if err != nil {
		return nil, err
	}
	if len(b.IV) == 0 {
		return nil, errIV
	}
	mode, err := cipher.NewGCMWithNonceSize(block, len(b.IV))
	if err != nil {
		return nil, errIV
	}
	if b.Tag < 4 || b.Tag > 16 {
		return nil, failed("ERR_CRYPTO_INVALID_AUTH_TAG", "Invalid authentication tag length: %d", b.Tag)
	}
	return mode.Seal(nil, b.IV, b.Data, b.AAD)[len(b.Data):][:b.Tag], nil
}

// wrapKey encrypts a key as RFC 3394 says.
func wrapKey(block cipher.Block, key []byte) (any, error) {
	if len(key)%8 != 0 || len(key) < 16 {
		return nil, errBlock
	}
	out := append([]byte{0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6}, key...)
	var buf [aes.BlockSize]byte
	n := len(key) / 8
	for t := range uint64(6 * n) {
		part := out[8*(int(t)%n+1):][:8]
		copy(buf[:8], out[:8])
		copy(buf[8:], part)
		block.Encrypt(buf[:], buf[:])
		binary.BigEndian.PutUint64(out[:8], binary.BigEndian.Uint64(buf[:8])^(t+1))
		copy(part, buf[8:])
	}
	return out, nil
}

func unwrap(block cipher.Block, wrapped []byte) (any, error) {
	if len(wrapped)%8 != 0 || len(wrapped) < 24 {
		return nil, errBlock
	}
	out := append([]byte(nil), wrapped...)
	var buf [aes.BlockSize]byte
	n := len(out)/8 - 1
	for t := 6*n - 1; t >= 0; t-- {
		part := out[8*(t%n+1):][:8]
		binary.BigEndian.PutUint64(buf[:8], binary.BigEndian.Uint64(out[:8])^uint64(t+1))
		copy(buf[8:], part)
		block.Decrypt(buf[:], buf[:])
		copy(out[:8], buf[:8])
		copy(part, buf[8:])
	}
	if subtle.ConstantTimeCompare(out[:8], []byte{0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6}) != 1 {
		return nil, errAuth
	}
	return out[8:], nil
}

// Sealed is a message for the owner of an RSA key.
type Sealed struct {
	Key     Key    `json:"key"`
	Padding string `json:"padding"` // oaep or pkcs1
	Hash    string `json:"hash"`
	Label   []byte `json:"label"`
	Decrypt bool   `json:"decrypt"`
	Data    []byte `json:"data"`
}

// Seal encrypts or decrypts with an RSA key.
func Seal(s Sealed) (any, error) {
	opened, err := s.Key.open()
	if err != nil {
		return nil, err
	}
	h, err := Digest(s.Hash)
	if err != nil {
		return nil, err
	}
	if s.Decrypt {
		key, ok := opened.(*rsa.PrivateKey)
		switch {
		case !ok:
			return nil, failed("ERR_OSSL_EVP_OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE", "this key cannot decrypt")
		case s.Padding == "pkcs1":
			return wrap(rsa.DecryptPKCS1v15(nil, key, s.Data)) //nolint:staticcheck // others still encrypt so
		}
		return wrap(rsa.DecryptOAEP(h.New(), nil, key, s.Data, s.Label))
	}
	if key, ok := opened.(*rsa.PrivateKey); ok {
		opened = &key.PublicKey
	}
	key, ok := opened.(*rsa.PublicKey)
	switch {
	case !ok:
		return nil, failed("ERR_OSSL_EVP_OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE", "this key cannot encrypt")
	case s.Padding == "pkcs1":
		return wrap(rsa.EncryptPKCS1v15(rand.Reader, key, s.Data)) //nolint:staticcheck // others still ask for it
	}
	return wrap(rsa.EncryptOAEP(h.New(), rand.Reader, key, s.Data, s.Label))
}
