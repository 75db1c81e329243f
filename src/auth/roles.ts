import type { Permission } from "../api/operation.js";

/** The role of a key. Each role includes the roles before it. */
export type Role = Permission;

export const roles: readonly Role[] = ["read", "write", "admin"];

export const isRole = (text: string): text is Role => (roles as readonly string[]).includes(text);

/** Whether a role covers the permission that an operation requires. */
export const allows = (role: Role, needed: Permission): boolean =>
  roles.indexOf(role) >= roles.indexOf(needed);
