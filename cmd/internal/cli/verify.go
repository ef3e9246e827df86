package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zarf-host/zarf-host/host"
	"github.com/zarf-host/zarf-host/host/signature"
)

// verifyFlags say whose signature a package must have, as Zarf's do.
type verifyFlags struct {
	mode verifyMode
	key  publicKey
	skip bool
}

func (f *verifyFlags) add(flags *pflag.FlagSet) {
	f.addKey(flags)
	f.mode = verifyMode(host.VerifyIfPossible)
	flags.Var(&f.mode, "verify", "when the package's signature is verified: never, if-possible or always; always where no `mode` is named")
	flags.Lookup("verify").NoOptDefVal = string(host.VerifyAlways)
	flags.BoolVar(&f.skip, "skip-signature-validation", false, "do not verify the signature")
	_ = flags.MarkDeprecated("skip-signature-validation", "use --verify=never") // it is there
}

func (f *verifyFlags) addKey(flags *pflag.FlagSet) {
	flags.VarP(&f.key, "key", "k", "cosign public key `file` that has to have signed the package")
}

func (f *verifyFlags) verification() host.Verification {
	v := host.Verification{Mode: host.VerifyMode(f.mode), Key: f.key.key}
	if f.skip {
		v.Mode = host.VerifyNever
	}
	return v
}

// verifyMode is the flag of a host.VerifyMode.
type verifyMode host.VerifyMode

func (m *verifyMode) String() string { return string(*m) }
func (m *verifyMode) Type() string   { return "mode" }

func (m *verifyMode) Set(s string) error {
	mode, err := host.ParseVerifyMode(s)
	if err == nil {
		*m = verifyMode(mode)
	}
	return err
}

// publicKey is a flag that names the file of a key, which is read when the flag is: a key that is none
// is wrong usage.
type publicKey struct {
	path string
	key  *signature.PublicKey
}

func (k *publicKey) String() string { return k.path }
func (k *publicKey) Type() string   { return "file" }

func (k *publicKey) Set(path string) error {
	if strings.Contains(path, "://") {
		return errors.New("keys are read from files only: write the public key into one")
	}
	data, err := readUpTo(path, signature.MaxKey+1)
	if err != nil {
		return err
	}
	key, err := signature.ParsePublicKey(data)
	if err != nil {
		return err
	}
	k.path, k.key = path, &key
	return nil
}

// verifiedDocument is the JSON of a package whose signature was verified.
type verifiedDocument struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest"`
	Signer  string `json:"signer"`
}

func (r *root) verifyCmd() *cobra.Command {
	source := sourceFlags{}
	cmd := &cobra.Command{
		Use:   "verify PACKAGE",
		Short: "Verify checksums and signature of a package",
		Long: "Verify that a package is signed by a key, and that all its files are those which were signed. A package\n" +
			"in a registry is read as a whole for that. What is unsigned, signed by another key, or was changed\n" +
			"afterwards, is an error.",
		Example: "  zarf-host verify zarf-package-shop-amd64-1.2.3.tar.zst --key cosign.pub",
		Args:    onePackage,
		RunE: func(cmd *cobra.Command, args []string) error {
			o := r.open(source)
			o.Verification.Mode = host.VerifyAlways
			done, err := host.Verify(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			doc := verifiedDocument{done.Definition.Metadata.Name, done.Definition.Metadata.Version, done.Digest, done.Signer}
			if r.format != "table" {
				return r.writeDocument(doc)
			}
			return r.show([]byte(fmt.Sprintf("%s %s is signed by the key %s\n  %d files verified, digest %s\n",
				doc.Name, doc.Version, doc.Signer, done.Files, doc.Digest)))
		},
	}
	f := cmd.Flags()
	source.addFetch(f)
	source.verify.addKey(f)
	r.outputFlag(cmd, "table", "json", "yaml")
	return cmd
}
