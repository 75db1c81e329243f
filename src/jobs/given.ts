/** The members that have a value: the engine's options know absence, not null. */
export function given<T extends object>(
  members: {
    [K in keyof T]: T[K] | null | undefined;
  },
): T {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== null),
  ) as T;
}
