import type { Route } from "./route.js";

/** The routes of a path. */
export interface RouteMatch {
  /** By method. */
  readonly routes: ReadonlyMap<string, Route>;
  /** Raw (percent-encoded) values of the path's `{...}` segments, by name. */
  readonly segments: Readonly<Record<string, string>>;
}

/** A node of the tree of path segments. `{name}` segments share one node per position. */
class PathNode {
  readonly literals = new Map<string, PathNode>();
  wildcard: PathNode | undefined;
  wildcardName = "";
  /** Routes that end here, by method: without and with a trailing slash. */
  readonly plain = new Map<string, Route>();
  readonly slashed = new Map<string, Route>();
}

/** Matches paths with routes. A literal segment wins over `{...}`. If the literal branch has no route, the router tries `{...}`. */
export class Router {
  readonly #root = new PathNode();

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

  /** `path`: as sent. Several leading slashes count as one: a base URL that ends in a slash yields `//v1/...`. */
  match(path: string): RouteMatch | undefined {
    let start = 1;
    while (path.charCodeAt(start) === SLASH) start++;
    const slashed = path.length > start && path.charCodeAt(path.length - 1) === SLASH;
    const end = slashed ? path.length - 1 : path.length;
    return findRoutes(this.#root, path, start, end, slashed, {});
  }

  /** Up to three `METHOD /path` that share the most segments with an unknown path. */
  similar(path: string): string[] {
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

function literal(node: PathNode, segment: string): PathNode {
  const next = node.literals.get(segment) ?? new PathNode();
  node.literals.set(segment, next);
  return next;
}

function wildcard(node: PathNode, name: string): PathNode {
  if (node.wildcard && node.wildcardName !== name) {
    throw new Error(`one path segment is both {${node.wildcardName}} and {${name}}`);
  }
  node.wildcardName = name;
  node.wildcard ??= new PathNode();
  return node.wildcard;
}

function findRoutes(
  node: PathNode,
  path: string,
  start: number,
  end: number,
  slashed: boolean,
  segments: Record<string, string>,
): RouteMatch | undefined {
  if (start > end) {
    const routes = slashed ? node.slashed : node.plain;
    return routes.size > 0 ? { routes, segments } : undefined;
  }
  let stop = path.indexOf("/", start);
  if (stop < 0 || stop > end) stop = end;
  const segment = path.slice(start, stop);
  const literalNode = node.literals.get(segment);
  if (literalNode) {
    const match = findRoutes(literalNode, path, stop + 1, end, slashed, segments);
    if (match) return match;
  }
  if (node.wildcard && segment !== "") {
    const match = findRoutes(node.wildcard, path, stop + 1, end, slashed, segments);
    if (match) {
      segments[node.wildcardName] = segment;
      return match;
    }
  }
  return undefined;
}
