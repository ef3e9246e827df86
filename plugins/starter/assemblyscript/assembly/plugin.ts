// Denies a prune that takes objects of protected namespaces: a plugin to begin with.
import { JSON } from "json-as";
import { Request, Response, main, fail } from "./hook";

// What plugin.yaml has a schema for.
@json
class Config {
  namespaces: string[] = [];
}

// What of the request is this plugin's own.
@json
class Configured {
  config: Config = new Config();
}

function judge(request: Request, document: string): Response {
  const namespaces = JSON.parse<Configured>(document).config.namespaces;
  if (namespaces.length == 0) {
    fail("the configuration protects nothing: name namespaces");
  }
  const response = Response.allow(request);
  const objects = request.plan.prune.objects;
  for (let i = 0; i < objects.length; i++) {
    const object = objects[i];
    if (namespaces.includes(object.namespace)) {
      response.deny(object, `${object.toString()}: namespace ${object.namespace} is protected`);
    }
  }
  return response;
}

main(judge);
