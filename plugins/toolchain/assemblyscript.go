package toolchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// emptyModule is more than the size of a module without a single function, which is what the compiler
// makes, without a word, of an entry file that a transform has lost.
const emptyModule = 200

// buildAssemblyScript compiles the entries of the folder's asconfig.json with the compiler that npm has
// installed in it.
func buildAssemblyScript(ctx context.Context, j job) error {
	node, err := exec.LookPath("node")
	if err != nil {
		return &MissingError{AssemblyScript, "Node.js", "on Debian and Ubuntu: apt-get install nodejs npm (version 18 or newer)"}
	}
	compiler := filepath.Join(j.dir, "node_modules", "assemblyscript", "bin", "asc.js")
	if !exists(compiler) {
		return &MissingError{AssemblyScript, "the packages that its package.json names", fmt.Sprintf("run `npm install` in %q once", j.dir)}
	}
	// The compiler reads asconfig.json in its working directory, the entries too.
	if _, err := j.run(ctx, node, compiler, "--config", "asconfig.json", "--outFile", j.out); err != nil {
		return err
	}
	if info, err := os.Stat(j.out); err == nil && info.Size() < emptyModule {
		return errors.New("building the plugin with asc: the module is empty; is an entry of asconfig.json called index.ts? Transforms lose it: give it another name")
	}
	return nil
}
