package cli

import (
	"github.com/spf13/cobra"

	"github.com/zarf-host/zarf-host/host/archive"
)

// newArchiverCmd packs and unpacks archives.
func newArchiverCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "archiver",
		Aliases: []string{"a"},
		Short:   "Pack and unpack archives: tar, tar.gz, tar.zst and zip",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	compress := &cobra.Command{
		Use:     "compress SOURCE… ARCHIVE",
		Aliases: []string{"c"},
		Short:   "Pack files and folders; the ending of the archive's name says what kind it is",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			return archive.Compress(cmd.Context(), args[:last], args[last])
		},
	}
	var nested bool
	decompress := &cobra.Command{
		Use:     "decompress ARCHIVE FOLDER",
		Aliases: []string{"d"},
		Short:   "Unpack an archive into a folder",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := archive.Decompress(cmd.Context(), args[0], args[1]); err != nil || !nested {
				return err
			}
			return archive.DecompressNested(cmd.Context(), args[1])
		},
	}
	decompress.Flags().BoolVar(&nested, "unarchive-all", false, "unpack the .tar files in it too, and delete them")
	decompress.Flags().BoolVar(&nested, "decompress-all", false, "unpack the .tar files in it too, and delete them")
	_ = decompress.Flags().MarkHidden("decompress-all") // it exists, so this cannot fail
	cmd.AddCommand(compress, decompress)
	return cmd
}
