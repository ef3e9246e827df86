// Command probe is a guest that tells, as findings, what it can see of the world beside its request.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/zarf-host/zarf-host/plugins/sdk"
)

func main() {
	sdk.Main(func(r sdk.Request) sdk.Response {
		res := r.Allow()
		say := func(format string, args ...any) {
			res.Find(sdk.Finding{Severity: sdk.SeverityInfo, Message: fmt.Sprintf(format, args...)})
		}
		say("args %s", strings.Join(os.Args, " "))
		say("environment of %d", len(os.Environ()))
		say("now %s", time.Now().UTC().Format(time.RFC3339Nano))
		began := time.Now()
		time.Sleep(time.Hour)
		say("slept %s", time.Since(began))
		var b [8]byte
		rand.Read(b[:])
		say("random %s", hex.EncodeToString(b[:]))
		// Which error it is depends on the Go version; that there is one does not.
		_, err := os.ReadFile("/etc/passwd")
		say("file %t", err != nil && !errors.Is(err, fs.ErrNotExist))
		say("write %t", os.WriteFile("/tmp/x", nil, 0o600) != nil)
		say("user %q", r.User)
		say("config %s", r.Config)
		fmt.Fprintln(os.Stderr, "a line of log")
		return res
	})
}
