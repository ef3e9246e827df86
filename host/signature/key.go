package signature

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	_ "crypto/sha512" // a hash that keys sign with
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
)

// ErrMismatch says that a signature is not one of the key over the content.
var ErrMismatch = errors.New("the signature is not one of this key over this content")

// ErrPassword says that a private key does not open with the password that was given.
var ErrPassword = errors.New("the password does not open the private key")

// MaxKey bounds a key file, which has a few hundred bytes, or a few thousand for RSA.
const MaxKey = 64 << 10

// The blocks of key files.
const (
	publicBlock    = "PUBLIC KEY"
	plainBlock     = "PRIVATE KEY"                    // PKCS#8, as other tools write it
	encryptedBlock = "ENCRYPTED SIGSTORE PRIVATE KEY" // cosign 2 and 3
	oldBlock       = "ENCRYPTED COSIGN PRIVATE KEY"   // cosign 1
)

// PublicKey verifies signatures.
type PublicKey struct{ key crypto.PublicKey }

// ParsePublicKey reads a public key as cosign writes it: PEM around PKIX.
func ParsePublicKey(data []byte) (PublicKey, error) {
	block, err := onlyBlock(data)
	if err != nil {
		return PublicKey{}, fmt.Errorf("reading a public key: %w", err)
	}
	if block.Type != publicBlock {
		return PublicKey{}, fmt.Errorf("reading a public key: the file holds a %q, wanted is a %q", block.Type, publicBlock)
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return PublicKey{}, fmt.Errorf("reading a public key: %w", err)
	}
	if err := supported(key); err != nil {
		return PublicKey{}, fmt.Errorf("reading a public key: %w", err)
	}
	return PublicKey{key}, nil
}

// Verify checks a signature over content; ErrMismatch if it is none of this key.
func (k PublicKey) Verify(content, signature []byte) error {
	switch key := k.key.(type) {
	case ed25519.PublicKey:
		if ed25519.Verify(key, content, signature) {
			return nil
		}
	case *rsa.PublicKey:
		if rsa.VerifyPKCS1v15(key, crypto.SHA256, hashed(crypto.SHA256, content), signature) == nil {
			return nil
		}
	case *ecdsa.PublicKey:
		for _, h := range curveHashes(key) {
			if ecdsa.VerifyASN1(key, hashed(h, content), signature) {
				return nil
			}
		}
	}
	return ErrMismatch
}

// curveHashes are the hashes that signatures of a key may be over: cosign takes SHA-256 whatever the
// curve, Sigstore's bundles the hash that fits the curve.
func curveHashes(key *ecdsa.PublicKey) []crypto.Hash {
	switch key.Curve.Params().BitSize {
	case 384:
		return []crypto.Hash{crypto.SHA256, crypto.SHA384}
	case 521:
		return []crypto.Hash{crypto.SHA256, crypto.SHA512}
	default:
		return []crypto.Hash{crypto.SHA256}
	}
}

// PrivateKey makes signatures.
type PrivateKey struct{ key crypto.Signer }

// Locked reports whether a private key file wants a password.
func Locked(data []byte) bool {
	block, err := onlyBlock(data)
	return err == nil && (block.Type == encryptedBlock || block.Type == oldBlock)
}

// ParsePrivateKey reads a private key: cosign's encrypted file, or plain PKCS#8, which needs no
// password. A wrong password is ErrPassword.
func ParsePrivateKey(data, password []byte) (PrivateKey, error) {
	key, err := parsePrivateKey(data, password)
	if err != nil {
		return PrivateKey{}, fmt.Errorf("reading a private key: %w", err)
	}
	return PrivateKey{key}, nil
}

func parsePrivateKey(data, password []byte) (crypto.Signer, error) {
	block, err := onlyBlock(data)
	if err != nil {
		return nil, err
	}
	der := block.Bytes
	switch block.Type {
	case plainBlock:
	case encryptedBlock, oldBlock:
		// The library takes no other parameters of scrypt than those that cosign has had: a key file
		// cannot make us work for hours.
		if der, err = encrypted.Decrypt(block.Bytes, password); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPassword, err)
		}
	default:
		return nil, fmt.Errorf("the file holds a %q, wanted is a %q or a %q", block.Type, encryptedBlock, plainBlock)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a key of type %T signs nothing", parsed)
	}
	return key, supported(key.Public())
}

// Public is the key that verifies what this one signs.
func (k PrivateKey) Public() PublicKey { return PublicKey{k.key.Public()} }

// Sign signs content as cosign does with such a key: ECDSA and RSA (PKCS #1 v1.5) over SHA-256,
// Ed25519 over the content itself.
func (k PrivateKey) Sign(content []byte) ([]byte, error) {
	digest, hash := content, crypto.Hash(0)
	if _, ok := k.key.(ed25519.PrivateKey); !ok {
		digest, hash = hashed(crypto.SHA256, content), crypto.SHA256
	}
	signature, err := k.key.Sign(rand.Reader, digest, hash)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	return signature, nil
}

func hashed(h crypto.Hash, content []byte) []byte {
	sum := h.New()
	sum.Write(content)
	return sum.Sum(nil)
}

// Fingerprint names the key: "sha256:" and the SHA-256 of its PKIX form in hex.
func (k PublicKey) Fingerprint() (string, error) {
	der, err := marshalPublic(k)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(der)), nil
}

func marshalPublic(k PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(k.key)
	if err != nil {
		return nil, fmt.Errorf("writing a public key: %w", err)
	}
	return der, nil
}

// minRSA is how long an RSA key must be, in bits.
const minRSA = 2048

func supported(key crypto.PublicKey) error {
	switch k := key.(type) {
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return nil
	case *rsa.PublicKey:
		if k.N.BitLen() < minRSA {
			return fmt.Errorf("an RSA key of %d bits proves nothing: at least %d are wanted", k.N.BitLen(), minRSA)
		}
		return nil
	}
	return fmt.Errorf("keys of type %T are not supported: take ECDSA, Ed25519 or RSA", key)
}

// onlyBlock is the one PEM block of a file. More than one would leave open which of them counts.
func onlyBlock(data []byte) (*pem.Block, error) {
	if len(data) > MaxKey {
		return nil, fmt.Errorf("it has %d bytes, a key has at most %d", len(data), MaxKey)
	}
	block, rest := pem.Decode(data)
	if block == nil {
		return nil, errors.New("it is no PEM file")
	}
	if more, _ := pem.Decode(rest); more != nil {
		return nil, errors.New("it holds more than one key")
	}
	return block, nil
}
