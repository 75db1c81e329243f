import type { Route } from "./route.js";

/** A path that leads somewhere. */
export interface Match {
  /** By method. */
  readonly routes: ReadonlyMap<string, Route>;
  /** Raw (percent-encoded) values of the path's `{...}` segments, by name. */
  readonly segments: Readonly<Record<string, string>>;
}

/** A segment of the paths; `{name}` segments share one node per position. */
class Node {
  readonly literals = new Map<string, Node>();
  wildcard: Node | undefined;
  wildcardName = "";
  /** Routes that end here, by method; those with a slash at the end apart. */
  readonly plain = new Map<string, Route>();
  readonly slashed = new Map<string, Route>();
}

/** Finds the route of a path. Literal segments win over `{...}`; a dead end behind one falls back to the other. */
export class Router {
  readonly #root = new Node();

  constructor(private readonly routes: readonly Route[]) {
    for (const route of routes) this.#add(route);
  }

  #add(route: Route): void {
    const slashed = route.path.endsWith("/");
    let node = this.#root;
    for (const segment of route.path.slice(1, slashed ? -1 : undefined).split("/")) {
      node = segment.startsWith("{")
        ? wildcard(node, segment.slice(1, -1))
        : literal(node, segment);
    }
    const byMethod = slashed ? node.slashed : node.plain;
    for (const method of route.methods) {
      const other = byMethod.get(method);
      if (other) {
        throw new Error(
          `${method} ${route.path} is both ${other.operation.id} and ${route.operation.id}`,
        );
      }
      byMethod.set(method, route);
    }
  }

  /** `path` as sent. Slashes at the start count as one: a base address that ends in one yields `//v1/...`. */
  find(path: string): Match | undefined {
    let start = 1;
    while (path.charCodeAt(start) === SLASH) start++;
    const slashed = path.length > start && path.charCodeAt(path.length - 1) === SLASH;
    const end = slashed ? path.length - 1 : path.length;
    return descend(this.#root, path, start, end, slashed, {});
  }

  /** Up to three `METHOD /path` that share most with a path that leads nowhere. */
  near(path: string): string[] {
    const wanted = path.split("/").filter(Boolean);
    const scored = this.routes.map((route) => {
      const segments = route.path.split("/").filter(Boolean);
      const length = Math.abs(segments.length - wanted.length);
      const same = segments.filter(
        (segment, at) => segment === wanted[at] || segment === wanted.at(at - segments.length),
      );
      return { text: `${route.methods[0]} ${route.path}`, score: same.length * 2 - length };
    });
    const best = scored.filter((one) => one.score > 0).sort((a, b) => b.score - a.score);
    return [...new Set(best.map((one) => one.text))].slice(0, 3);
  }
}

const SLASH = 47;

function literal(node: Node, segment: string): Node {
  const next = node.literals.get(segment) ?? new Node();
  node.literals.set(segment, next);
  return next;
}

function wildcard(node: Node, name: string): Node {
  if (node.wildcard && node.wildcardName !== name) {
    throw new Error(`one path segment is both {${node.wildcardName}} and {${name}}`);
  }
  node.wildcardName = name;
  node.wildcard ??= new Node();
  return node.wildcard;
}

function descend(
  node: Node,
  path: string,
  start: number,
  end: number,
  slashed: boolean,
  segments: Record<string, string>,
): Match | undefined {
  if (start > end) {
    const routes = slashed ? node.slashed : node.plain;
    return routes.size > 0 ? { routes, segments } : undefined;
  }
  let stop = path.indexOf("/", start);
  if (stop < 0 || stop > end) stop = end;
  const segment = path.slice(start, stop);
  const known = node.literals.get(segment);
  if (known) {
    const match = descend(known, path, stop + 1, end, slashed, segments);
    if (match) return match;
  }
  if (node.wildcard && segment !== "") {
    const match = descend(node.wildcard, path, stop + 1, end, slashed, segments);
    if (match) {
      segments[node.wildcardName] = segment;
      return match;
    }
  }
  return undefined;
}
