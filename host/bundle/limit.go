package bundle

// Limits bound what a package may make its reader do. A zero field means its default.
type Limits struct {
	// Bytes is the most that a package may hold once decompressed. Default 512 GiB.
	Bytes int64
	// Ratio is how many times larger than its compressed form a package may be. It is looked at
	// from the first 64 MiB on, since a small package can do no harm. Default 250.
	Ratio int64
	// Entries is how many entries the package, and each component's tar, may have. Default 500,000.
	Entries int
	// DefinitionBytes is the most that zarf.yaml may hold. Default 1 MiB.
	DefinitionBytes int64
	// ChecksumsBytes is the most that checksums.txt may hold. Default 16 MiB.
	ChecksumsBytes int64
	// Depth is how many folders deep an entry may lie. Default 200.
	Depth int
	// NameBytes is how long the path of an entry may be. Default 4096.
	NameBytes int
	// ReadBytes is the most that one call of ReadFile or ReadComponent returns. Default 64 MiB.
	ReadBytes int64
}

// ratioFloor is the size from which Limits.Ratio is looked at.
const ratioFloor = 64 << 20

// maxWindow is the largest zstd window that a reader accepts, and so most of what a frame can make
// it allocate; it is the most that zstd's own tool decompresses unasked.
const maxWindow = 128 << 20

func (l Limits) withDefaults() Limits {
	l.Bytes = orDefault(l.Bytes, 512<<30)
	l.Ratio = orDefault(l.Ratio, 250)
	l.Entries = orDefault(l.Entries, 500_000)
	l.DefinitionBytes = orDefault(l.DefinitionBytes, 1<<20)
	l.ChecksumsBytes = orDefault(l.ChecksumsBytes, 16<<20)
	l.Depth = orDefault(l.Depth, 200)
	l.NameBytes = orDefault(l.NameBytes, 4096)
	l.ReadBytes = orDefault(l.ReadBytes, 64<<20)
	return l
}

func orDefault[T int | int64](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}
