// Package host is the engine of zarf-host: it deploys, plans and removes Zarf packages and asks
// plugins at every dangerous moment. A program that embeds it calls Open, Plan, Deploy and Remove.
//
// # The line
//
// One deployment is one straight line (SPEC 2). Each step has its own package; a failure before the
// lease is taken leaves the cluster exactly as it was.
//
//	 1 open      source → bundle        verify checksums, compute the digest
//	 2 validate  validate               the definition against the CUE schema
//	 3 select    selection              components, namespace override
//	 4 resolve   config, value, template what was supplied → DeployConfig, values, variables
//	 5 observe   cluster, chart         record, releases, live objects; render what is wanted
//	 6 plan      plan                   facts → Plan
//	 7 preflight host                   what cannot work is refused by name
//	 8 ask       hook, wasm             plugins; fold; show; confirm
//	 9 lock      cluster                lease, recovery, observe and plan again
//	10 apply     apply → chart, action  component by component, recorded before and after
//	11 prune     apply → chart, registry what the confirmed plan lists
//	12 record    apply → cluster        the outcome and the configuration
//
// # The arrows
//
// Dependencies point one way, and a test in internal/depcheck holds them:
//
//	cmd → host → apply → decisions → words
//	      host → effects → formats → words
//
//	words      spec state event object                          types; the standard library only
//	decisions  config plan hook template selection value image
//	           compose differential inventory comparison plugin policy same input, same output; no context, clock or files
//	formats    archive bundle definition validate signature     bytes ↔ words
//	effects    cluster chart action source wait wasm registry
//	           recording imagetar kustomize repo                each knows one outside thing; none knows another
//	execution  apply                                            a plan, step by step, through interfaces of its own
//	           create                                           a package, likewise; it knows the formats, which it writes
package host
