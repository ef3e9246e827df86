package validate

func checkPackage(r *report, root *node, sound bool) {}
func checkComments(r *report, data []byte)           {}
