// What a plugin in AssemblyScript needs: the request, the response, and main, which reads one and writes
// the other. Fields that the classes here do not have are ignored, so that a plugin goes on working when
// requests grow; add those that you need.
import { JSON } from "json-as";

const API_VERSION = "hooks.zarf-host.dev/v1";

// An object that would be deleted.
@json
export class PrunedObject {
  apiVersion: string = "";
  kind: string = "";
  namespace: string = "";
  name: string = "";

  // Kind/namespace/name, or Kind/name for an object without a namespace.
  toString(): string {
    return this.namespace.length == 0 ? `${this.kind}/${this.name}` : `${this.kind}/${this.namespace}/${this.name}`;
  }
}

@json
export class Prune {
  objects: PrunedObject[] = [];
}

// What the operation is going to do.
@json
export class Plan {
  prune: Prune = new Prune();
}

// What a plugin is asked. With inputs in plugin.yaml, only the fields that they name are filled.
@json
export class Request {
  apiVersion: string = "";
  id: string = "";
  hook: string = "";
  time: string = "";
  plan: Plan = new Plan();
}

@json
export class ObjectRef {
  apiVersion: string = "";
  kind: string = "";
  @omitif((self: ObjectRef) => self.namespace.length == 0)
  namespace: string = "";
  name: string = "";
}

// One thing to say to the user.
@json
export class Finding {
  severity: string = "info"; // info, warn or deny
  message: string = "";
  object: ObjectRef = new ObjectRef();
}

// What a plugin answers.
@json
export class Response {
  apiVersion: string = API_VERSION;
  kind: string = "HookResponse";
  id: string = "";
  verdict: string = "allow"; // allow, warn or deny
  @omitif((self: Response) => self.findings.length == 0)
  findings: Finding[] = [];

  // Begins a response without objections.
  static allow(request: Request): Response {
    const response = new Response();
    response.id = request.id;
    return response;
  }

  // Denies because of an object that would go.
  deny(object: PrunedObject, message: string): void {
    const finding = new Finding();
    finding.severity = "deny";
    finding.message = message;
    finding.object.apiVersion = object.apiVersion;
    finding.object.kind = object.kind;
    finding.object.namespace = object.namespace;
    finding.object.name = object.name;
    this.findings.push(finding);
    this.verdict = "deny";
  }
}

// Ends the plugin without an answer: something is wrong with the plugin itself, such as its
// configuration, and the host's failure policy decides.
export function fail(why: string): void {
  process.stderr.write(why + "\n");
  process.exit(1);
}

function readAll(): string {
  const chunk = new ArrayBuffer(65536);
  let all = new Uint8Array(0);
  for (;;) {
    const n = process.stdin.read(chunk);
    if (n <= 0) break;
    const more = new Uint8Array(all.length + n);
    more.set(all);
    more.set(Uint8Array.wrap(chunk, 0, n), all.length);
    all = more;
  }
  return String.UTF8.decode(all.buffer);
}

// Answers the request on stdin, and ends the program.
export function main(judge: (request: Request, document: string) => Response): void {
  const document = readAll();
  const request = JSON.parse<Request>(document);
  if (request.apiVersion != API_VERSION) {
    fail(`the request has apiVersion "${request.apiVersion}", this plugin speaks "${API_VERSION}"`);
  }
  process.stdout.write(JSON.stringify(judge(request, document)) + "\n");
}
