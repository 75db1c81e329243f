import type { Permission } from "../api/operation.js";

/** The role of a caller. Each role includes the roles before it. */
export type Role = Permission;

export const roles: readonly Role[] = ["read", "write", "admin"];

/** `none`: the caller may do nothing but what grants give. */
export const isRole = (text: string): text is Role | "none" =>
  text === "none" || (roles as readonly string[]).includes(text);

/** Whether a role covers the permission that an operation requires. */
export const allows = (role: Role | "none", needed: Permission): boolean =>
  role !== "none" && roles.indexOf(role) >= roles.indexOf(needed);
