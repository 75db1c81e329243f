/**
 * An object with some methods replaced. Works for proxies of other threads and for classes with private members.
 *
 * The replaced methods are own properties, so that a call of one, as for each request, does not run the proxy.
 */
export const override = <T extends object>(target: T, methods: Partial<T>): T => {
  const others = new Proxy(target, {
    get(_, name) {
      const member: unknown = target[name as keyof T];
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return Object.assign(Object.create(others), methods);
};
