import type { Permission } from "../api/operation.js";

/** The role of a caller. Each role includes the roles before it. */
export type Role = Permission;

/** The role of a caller: `none` gives no privilege. */
export type CallerRole = Role | "none";

export const roles: readonly Role[] = ["read", "write", "admin"];

/** The roles that a key may have. */
export const callerRoles: readonly CallerRole[] = ["none", ...roles];

export const isCallerRole = (text: string): text is CallerRole =>
  (callerRoles as readonly string[]).includes(text);

export const isRole = (text: string): text is Role => (roles as readonly string[]).includes(text);

/** Whether a role covers the permission that an operation requires. */
export const allows = (role: CallerRole, needed: Permission): boolean =>
  (roles as readonly CallerRole[]).indexOf(role) >= roles.indexOf(needed);
