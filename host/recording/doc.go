// Package recording keeps what plugins were asked and what they answered, in folders that people can read
// and edit: `deploy --record` writes them, `plugin replay`, `plugin test` and `plugin diff` read them. It
// is an effect: it knows folders, and neither plugins nor clusters.
//
// A call is a folder:
//
//	request.json   what the plugin was asked
//	answers.json   what it was answered when it asked, a list of {request, answer}; absent where it asked nothing
//	response.json  what it said, to the byte; absent where it failed
//	call.json      which module it was, how much fuel it took, or how it failed
//
// A recording is a folder of calls, numbered in their order, beside modules/ with the modules themselves.
package recording
