package validate_test

import (
	"fmt"

	"github.com/zarf-host/zarf-host/host/validate"
)

func Example() {
	v, err := validate.New()
	if err != nil {
		panic(err)
	}
	result := v.File("zarf.yaml", []byte(`kind: ZarfPackageConfig
metadata:
  name: demo
components:
  - name: web
    chart: []
`), validate.Options{})
	for _, d := range result.Diagnostics {
		fmt.Println(d)
	}
	// Output: zarf.yaml:6:5: components[0].chart: unknown key "chart"; did you mean "charts"?
}
