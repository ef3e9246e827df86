package image

import (
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
)

// Targets are the references under which a registry keeps an image of a package.
type Targets struct {
	// Pods is the reference that pods get: its tag ends in a checksum of host and path, so that
	// images of different hosts with one path do not meet. With a digest it has no tag.
	Pods string
	// Plain has the image's own tag, for workloads that Zarf does not know. It is Pods where the
	// image has a digest, and where nothing was changed.
	Plain string
	// Identity says that the reference was left as it was, because the image's host is where it
	// goes. Others may have put it there: such an image is never pruned.
	Identity bool
}

// All are the references to push, each once. Pods is the last, so that where it is the image is
// complete.
func (t Targets) All() []string {
	return slices.Compact([]string{t.Plain, t.Pods})
}

// Transform says where an image goes in a registry whose address, with a path or without, is the one
// of the state. An image whose host is a prefix of that address is already there, as Zarf sees it.
func Transform(address string, ref Reference) Targets {
	if strings.HasPrefix(address, ref.Host) {
		return Targets{Pods: ref.String(), Plain: ref.String(), Identity: true}
	}
	base := address + "/" + ref.Path
	plain := base + ref.tagOrDigest()
	if ref.Digest != "" {
		return Targets{Pods: plain, Plain: plain}
	}
	sum := crc32.ChecksumIEEE([]byte(ref.Name()))
	return Targets{Pods: plain + "-zarf-" + strconv.FormatUint(uint64(sum), 10), Plain: plain}
}
