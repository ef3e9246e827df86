package value

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

// quoted lists keys.
func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(out, ", ")
}

// listed lists what a schema allows.
func listed(values []any) string {
	out := make([]string, len(values))
	for i, v := range values {
		data, err := json.Marshal(v)
		if err != nil {
			data = []byte("something that cannot be shown")
		}
		out[i] = string(data)
	}
	return strings.Join(out, ", ")
}

func number10(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64() // what is lost is beyond what anybody writes as a limit
	return fmt.Sprint(f)
}
