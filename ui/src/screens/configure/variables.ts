// Places in a prompt that a workflow fills in: values of its caller, of its environment and of its other nodes.

export const KINDS = ["external", "env", "nodes"] as const;
export type Kind = (typeof KINDS)[number];

/** `{{external.customer}}`, `{{env.REGION}}`, `{{nodes.prepare.messages_json}}` */
const PLACE = /\{\{\s*(external|env|nodes)\.([A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*)\s*\}\}/g;

export function place(kind: Kind, name: string): string {
  return `{{${kind}.${name}}}`;
}

/** Whether a place can have this name; a value of a node is `node.field`. */
export function isName(kind: Kind, name: string): boolean {
  return kind === "nodes" ? /^[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)+$/.test(name) : /^[A-Za-z_][\w-]*$/.test(name);
}

/** The places in a text, each once, as `kind.name`. */
export function places(text: string): string[] {
  return [...new Set([...text.matchAll(PLACE)].map((found) => `${found[1]}.${found[2]}`))];
}

/** The text with its places filled in; one without a value stays as it is. What is filled in is not looked into again. */
export function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(PLACE, (whole, kind: string, name: string) => {
    const key = `${kind}.${name}`;
    return Object.hasOwn(values, key) ? (values[key] ?? whole) : whole;
  });
}
