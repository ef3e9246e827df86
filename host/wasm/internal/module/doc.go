// Package module reads and writes the WebAssembly binary format as far as the host must know it
// before any engine sees a guest: its sections, what it imports and exports, how large it is. It runs
// nothing and knows nothing of plugins.
package module
