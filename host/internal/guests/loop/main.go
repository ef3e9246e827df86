// Command loop is a guest that never answers.
package main

func main() {
	for n := uint64(0); ; n++ {
		if n == 1<<63 {
			break // in some thousand years
		}
	}
}
