package signature

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// PayloadMediaType is the media type of an artifact's payload in the form of cosign 2, where it is a
// layer of the artifact SHA256-HEX.sig, and Annotation is the layer's annotation with its signature.
const (
	PayloadMediaType = "application/vnd.dev.cosign.simplesigning.v1+json"
	Annotation       = "dev.cosignproject.cosign/signature"
)

// MaxPayload bounds a payload, and a bundle.
const MaxPayload = 1 << 20

const payloadType = "cosign container image signature"

// payload is what is signed of an artifact. The order of its fields is cosign's.
type payload struct {
	Critical struct {
		Identity struct {
			Reference string `json:"docker-reference"`
		} `json:"identity"`
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
	Optional map[string]any `json:"optional"`
}

// Signed is a payload with its signature in base64, as registries keep it.
type Signed struct {
	Payload   []byte
	Signature string
}

// SignArtifact signs the manifest that has a digest, "sha256:…"; repository is where it lies,
// HOST/PATH, for people only.
func (k PrivateKey) SignArtifact(repository, digest string) (Signed, error) {
	var p payload
	p.Critical.Identity.Reference = repository
	p.Critical.Image.Digest = digest
	p.Critical.Type = payloadType
	body, err := json.Marshal(p)
	if err != nil {
		return Signed{}, fmt.Errorf("writing the payload to sign: %w", err)
	}
	signature, err := k.Sign(body)
	if err != nil {
		return Signed{}, err
	}
	return Signed{Payload: body, Signature: base64.StdEncoding.EncodeToString(signature)}, nil
}

// VerifyArtifact checks that a payload is signed by the key and says that it is about the manifest with
// a digest, "sha256:…". Where the artifact was when it was signed does not matter: a mirror has the same
// one.
func (k PublicKey) VerifyArtifact(s Signed, digest string) error {
	signature, err := base64.StdEncoding.DecodeString(s.Signature)
	if err != nil {
		return fmt.Errorf("reading a signature: %w", err)
	}
	// First who says it, then what: nothing that nobody signed is read.
	if err := k.Verify(s.Payload, signature); err != nil {
		return err
	}
	var p payload
	if err := json.Unmarshal(s.Payload, &p); err != nil {
		return fmt.Errorf("reading a signed payload: %w", err)
	}
	if p.Critical.Type != payloadType {
		return fmt.Errorf("the signed payload is a %q, not a %q", p.Critical.Type, payloadType)
	}
	if p.Critical.Image.Digest != digest {
		return fmt.Errorf("%w: it is about %s, not about %s", ErrMismatch, p.Critical.Image.Digest, digest)
	}
	return nil
}
