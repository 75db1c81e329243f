import type { Permission } from "../api/operation.js";

/** What a key may do; each role includes the ones before it. */
export type Role = Permission;

export const roles: readonly Role[] = ["read", "write", "admin"];

export const isRole = (text: string): text is Role => (roles as readonly string[]).includes(text);

/** Whether a role covers what an operation asks for. */
export const allows = (role: Role, needed: Permission): boolean =>
  roles.indexOf(role) >= roles.indexOf(needed);
