package signature

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// BundleMediaType is the media type of the bundles that are written, and the type of the artifact that
// holds one in a registry. Older ones end in version=0.1 and version=0.2.
const BundleMediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"

const (
	bundlePrefix  = "application/vnd.dev.sigstore.bundle"
	statementType = "application/vnd.in-toto+json"
	// signPredicate is what makes a statement a signature: other statements of the same key, such as
	// "this was scanned and found bad", are none.
	signPredicate = "https://sigstore.dev/cosign/sign/v1"
	sha256Name    = "SHA2_256"
)

// IsBundle reports whether a media type is that of a bundle.
func IsBundle(mediaType string) bool { return strings.HasPrefix(mediaType, bundlePrefix) }

// Bundle is a Sigstore bundle: a signature of a file, or a signed statement. What else one may hold
// (certificates, log entries, the hint which key it is) is not read.
type Bundle struct {
	message  *messageSignature
	envelope *envelope
}

type bundleFile struct {
	MediaType    string            `json:"mediaType"`
	Verification verification      `json:"verificationMaterial"`
	Message      *messageSignature `json:"messageSignature,omitempty"`
	Envelope     *envelope         `json:"dsseEnvelope,omitempty"`
}

type verification struct {
	PublicKey *keyHint `json:"publicKey,omitempty"`
}

type keyHint struct {
	Hint string `json:"hint,omitempty"`
}

type messageSignature struct {
	Digest    messageDigest `json:"messageDigest"`
	Signature []byte        `json:"signature"`
}

type messageDigest struct {
	Algorithm string `json:"algorithm"`
	Digest    []byte `json:"digest"`
}

type envelope struct {
	Payload     []byte              `json:"payload"`
	PayloadType string              `json:"payloadType"`
	Signatures  []envelopeSignature `json:"signatures"`
}

type envelopeSignature struct {
	Sig []byte `json:"sig"`
}

// statement is what is read of an in-toto statement.
type statement struct {
	Type    string `json:"_type"`
	Subject []struct {
		Digest map[string]string `json:"digest"`
	} `json:"subject"`
	Predicate string `json:"predicateType"`
}

// ParseBundle reads a bundle. Nothing of it is to be believed before it is verified.
func ParseBundle(data []byte) (Bundle, error) {
	if len(data) > MaxPayload {
		return Bundle{}, fmt.Errorf("reading a signature bundle: it has %d bytes, at most %d are read", len(data), MaxPayload)
	}
	var f bundleFile
	if err := json.Unmarshal(data, &f); err != nil {
		return Bundle{}, fmt.Errorf("reading a signature bundle: %w", err)
	}
	switch {
	case !IsBundle(f.MediaType):
		return Bundle{}, fmt.Errorf("reading a signature bundle: it is of type %q", f.MediaType)
	case f.Message == nil && f.Envelope == nil:
		return Bundle{}, errors.New("reading a signature bundle: it holds no signature")
	case f.Message != nil && f.Envelope != nil:
		return Bundle{}, errors.New("reading a signature bundle: it holds two signatures")
	}
	return Bundle{message: f.Message, envelope: f.Envelope}, nil
}

// VerifyFile checks that the bundle is a signature of the key over a file's content.
func (b Bundle) VerifyFile(k PublicKey, content []byte) error {
	if b.message == nil {
		return errors.New("the bundle is a signed statement, not the signature of a file")
	}
	if b.message.Digest.Algorithm == sha256Name {
		if sum := sha256.Sum256(content); !bytes.Equal(b.message.Digest.Digest, sum[:]) {
			return fmt.Errorf("%w: it is about a file with another digest", ErrMismatch)
		}
	}
	return k.Verify(content, b.message.Signature)
}

// VerifyArtifact checks that the bundle is a statement, signed by the key, that cosign makes when it
// signs the manifest with a digest, "sha256:…".
func (b Bundle) VerifyArtifact(k PublicKey, digest string) error {
	if b.envelope == nil {
		return errors.New("the bundle is the signature of a file, not a signed statement")
	}
	signed := preAuthentication(b.envelope.PayloadType, b.envelope.Payload)
	if !slices.ContainsFunc(b.envelope.Signatures, func(s envelopeSignature) bool { return k.Verify(signed, s.Sig) == nil }) {
		return ErrMismatch
	}
	if b.envelope.PayloadType != statementType {
		return fmt.Errorf("what is signed is of type %q, not a statement", b.envelope.PayloadType)
	}
	var s statement
	if err := json.Unmarshal(b.envelope.Payload, &s); err != nil {
		return fmt.Errorf("reading a signed statement: %w", err)
	}
	if s.Predicate != signPredicate {
		return fmt.Errorf("the signed statement is a %q, not a signature", s.Predicate)
	}
	for _, subject := range s.Subject {
		if "sha256:"+subject.Digest["sha256"] == digest {
			return nil
		}
	}
	return fmt.Errorf("%w: the statement is not about %s", ErrMismatch, digest)
}

// preAuthentication is what DSSE signs: type and content with their lengths, so that one cannot be
// taken for a part of the other.
func preAuthentication(contentType string, content []byte) []byte {
	head := fmt.Sprintf("DSSEv1 %d %s %d ", len(contentType), contentType, len(content))
	return append([]byte(head), content...)
}

// SignFile returns a bundle with the signature of a file's content, as `cosign sign-blob --bundle` and
// Zarf write it.
func (k PrivateKey) SignFile(content []byte) ([]byte, error) {
	signature, err := k.Sign(content)
	if err != nil {
		return nil, err
	}
	hint, err := k.Public().hint()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	return json.Marshal(bundleFile{
		MediaType:    BundleMediaType,
		Verification: verification{PublicKey: &keyHint{Hint: hint}},
		Message:      &messageSignature{Digest: messageDigest{Algorithm: sha256Name, Digest: sum[:]}, Signature: signature},
	})
}

// hint is what bundles say of their key: the SHA-256 of its PKIX form.
func (k PublicKey) hint() (string, error) {
	der, err := marshalPublic(k)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(der)
	return base64.StdEncoding.EncodeToString(sum[:]), nil
}
