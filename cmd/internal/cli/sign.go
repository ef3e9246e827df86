package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
)

// signedDocument is the JSON of a package that was signed.
type signedDocument struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"`
	Signer string `json:"signer"`
}

func (r *root) signCmd() *cobra.Command {
	var (
		source sourceFlags
		key    signingKeyFlags
		o      host.SignOptions
	)
	cmd := &cobra.Command{
		Use:   "sign PACKAGE",
		Short: "Sign a package with a cosign key",
		Long: "Sign a package with a cosign key and write its archive, beside the one that it was or into the folder\n" +
			"that is named. Only its definition changes, which says that it is signed; `zarf package verify`\n" +
			"verifies it too. With --key the package must have a signature of that key already.",
		Example: "  zarf-host sign zarf-package-shop-amd64-1.2.3.tar.zst --signing-key cosign.key",
		Args:    onePackage,
		RunE: func(cmd *cobra.Command, args []string) error {
			if key.path == "" {
				return errors.New("name the key to sign with: --signing-key FILE")
			}
			private, err := key.read(cmd.Context(), r)
			if err != nil {
				return err
			}
			o.Common, o.Source, o.Key = r.remoteCommon(source), args[0], *private
			done, err := host.Sign(cmd.Context(), o)
			if err != nil {
				return err
			}
			switch r.format {
			case "json", "yaml":
				return r.writeDocument(signedDocument{done.File, done.Bytes, done.Digest, done.Signer})
			case "name":
				return r.write([]byte(render.Line(done.File) + "\n"))
			}
			return r.write([]byte(fmt.Sprintf("%s\n  %d bytes, digest %s\n  signed by the key %s\n",
				render.Line(done.File), done.Bytes, done.Digest, done.Signer)))
		},
	}
	source.add(cmd)
	f := cmd.Flags()
	key.add(f)
	f.StringVarP(&o.Output, "output", "o", "", "`folder` that the archive is written into; the package's own if left out")
	f.BoolVar(&o.Overwrite, "overwrite", false, "replace the signature that the package has")
	r.outputFormatFlag(cmd, "table", "json", "yaml", "name")
	return cmd
}
