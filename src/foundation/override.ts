/** An object with some methods replaced. Works for proxies of other threads and for classes with private members. */
export const override = <T extends object>(target: T, methods: Partial<T>): T =>
  new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(methods, name)) return methods[name as keyof T];
      const member: unknown = target[name as keyof T];
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
