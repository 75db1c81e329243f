/** The limits that a file sets, and which of them hold for a caller and for a namespace. */

/** The members of an entry of the file, for callers and namespaces. */
export const limitNames = [
  "requests_per_second",
  "burst",
  "concurrent_queries",
  "upload_bytes_per_second",
  "upload_burst_bytes",
  "jobs",
  "rows",
  "bytes",
] as const;

export type LimitName = (typeof limitNames)[number];

/** One entry of the file. Null lifts a limit that a weaker entry sets. */
export type LimitEntry = Readonly<Partial<Record<LimitName, number | null>>>;

export type LimitEntries = Readonly<Record<string, LimitEntry>>;

/** A token bucket: it fills at a rate, and holds at most `burst`. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** The limits of one caller or one namespace. An absent member is no limit. */
export interface Limits {
  readonly requests?: Rate;
  readonly uploadBytes?: Rate;
  readonly concurrentQueries?: number;
  readonly jobs?: number;
  /** Of all tables of the namespace and below it, or of all tables that the caller created. */
  readonly rows?: number;
  /** As `rows`. */
  readonly bytes?: number;
}

/** The content of a limits file. Only plain values: the main thread sends it to the other threads. */
export interface LimitRules {
  readonly defaults: { readonly caller: LimitEntry; readonly namespace: LimitEntry };
  readonly keys: LimitEntries;
  readonly users: LimitEntries;
  readonly groups: LimitEntries;
  readonly roles: LimitEntries;
  /** By path: the components joined by `$`; `$` is the root namespace. */
  readonly namespaces: LimitEntries;
  readonly unauthenticated: {
    readonly total: Rate;
    readonly perAddress: Rate;
    /** Addresses and CIDR blocks of proxies whose `x-forwarded-for` joust trusts. */
    readonly trustedProxies: readonly string[];
  };
}

/**
 * The limits of a server without a file. Its only budget is one that no person notices: without it, a flood of requests
 * without a key takes the CPUs from all callers.
 */
export const rulesWithoutFile: LimitRules = {
  defaults: { caller: {}, namespace: {} },
  keys: {},
  users: {},
  groups: {},
  roles: {},
  namespaces: {},
  unauthenticated: {
    total: { perSecond: 2_000, burst: 4_000 },
    perAddress: { perSecond: 500, burst: 1_000 },
    trustedProxies: [],
  },
};

/** The members of an identity that select its limits. */
export interface LimitedCaller {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly groups?: readonly string[];
}

const USER = "user:";

/** Whether the caller is a user of an identity provider, and not a key. */
export const isUser = ({ id }: Pick<LimitedCaller, "id">): boolean => id.startsWith(USER);

/** The limits of a caller: the entry of the key or user, else of its groups, its role, the defaults; by member. */
export function limitsOfCaller(rules: LimitRules, caller: LimitedCaller): Limits {
  const groups = (caller.groups ?? []).flatMap((group) => entryOf(rules.groups, group) ?? []);
  return limitsOf([
    rules.defaults.caller,
    entryOf(rules.roles, caller.role),
    mostGenerous(groups),
    ...entriesOfSubject(rules, caller),
  ]);
}

/** The entries that name the caller, by name and then by id. */
function entriesOfSubject(rules: LimitRules, caller: LimitedCaller): (LimitEntry | undefined)[] {
  const { id, name } = caller;
  if (!isUser(caller)) return [entryOf(rules.keys, name), entryOf(rules.keys, id)];
  const { users } = rules;
  return [entryOf(users, name), entryOf(users, id.slice(USER.length)), entryOf(users, id)];
}

/** The limits of the namespace at a path; the root namespace has no defaults. */
export function limitsOfNamespace(rules: LimitRules, path: readonly string[]): Limits {
  if (path.length === 0) return limitsOf([entryOf(rules.namespaces, "$")]);
  return limitsOf([rules.defaults.namespace, entryOf(rules.namespaces, path.join("$"))]);
}

/** Whether some rule may limit a request that has a valid key. */
export const limitsCallers = (rules: LimitRules): boolean =>
  limitsNamespaces(rules) ||
  [rules.defaults.caller, rules.keys, rules.users, rules.groups, rules.roles].some(
    (entries) => Object.keys(entries).length > 0,
  );

/** Whether some rule may limit a namespace. */
export const limitsNamespaces = ({ defaults, namespaces }: LimitRules): boolean =>
  Object.keys(defaults.namespace).length > 0 || Object.keys(namespaces).length > 0;

const entryOf = (entries: LimitEntries, name: string): LimitEntry | undefined =>
  Object.hasOwn(entries, name) ? entries[name] : undefined;

/** For a caller in several groups the largest value of each limit counts. */
function mostGenerous(entries: readonly LimitEntry[]): LimitEntry {
  const merged: Partial<Record<LimitName, number | null>> = {};
  for (const entry of entries) {
    for (const [name, value] of Object.entries(entry) as [LimitName, number | null][]) {
      const other = merged[name];
      merged[name] =
        other === undefined
          ? value
          : other === null || value === null
            ? null
            : Math.max(other, value);
    }
  }
  return merged;
}

/** The weakest entry first: a later one overrides single members. */
function limitsOf(entries: readonly (LimitEntry | undefined)[]): Limits {
  const merged: LimitEntry = Object.assign({}, ...entries);
  const requests = rate(merged.requests_per_second, merged.burst);
  const uploadBytes = rate(merged.upload_bytes_per_second, merged.upload_burst_bytes);
  return {
    ...(requests && { requests }),
    ...(uploadBytes && { uploadBytes }),
    ...present("concurrentQueries", merged.concurrent_queries),
    ...present("jobs", merged.jobs),
    ...present("rows", merged.rows),
    ...present("bytes", merged.bytes),
  };
}

const rate = (perSecond: number | null | undefined, burst: number | null | undefined) =>
  perSecond == null ? undefined : { perSecond, burst: burst ?? perSecond };

const present = <Key extends string>(key: Key, value: number | null | undefined) =>
  (value == null ? {} : { [key]: value }) as { [K in Key]?: number };
