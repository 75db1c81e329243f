import { ErrorCode, JoustError } from "../foundation/errors.js";
import type { NamespacePath, TableId } from "./catalog.js";
import { formatPath } from "./path.js";

export const namespaceNotFound = (path: NamespacePath): JoustError =>
  new JoustError(ErrorCode.NamespaceNotFound, `namespace ${formatPath(path)} does not exist`);

export const namespaceExists = (path: NamespacePath): JoustError =>
  new JoustError(
    ErrorCode.NamespaceAlreadyExists,
    path.length === 0
      ? "the root namespace always exists"
      : `namespace ${formatPath(path)} already exists`,
  );

export const namespaceNotEmpty = (path: NamespacePath): JoustError =>
  new JoustError(
    ErrorCode.NamespaceNotEmpty,
    `namespace ${formatPath(path)} is not empty: drop what is inside first, or use behavior Cascade`,
  );

export const namespaceChanged = (path: NamespacePath): JoustError =>
  new JoustError(
    ErrorCode.ConcurrentModification,
    `namespace ${formatPath(path)} was changed by another request at the same time: try again`,
  );

export const tableNotFound = (id: TableId): JoustError =>
  new JoustError(ErrorCode.TableNotFound, `table ${formatPath(id)} does not exist`);

export const tableExists = (id: TableId): JoustError =>
  new JoustError(ErrorCode.TableAlreadyExists, `table ${formatPath(id)} already exists`);

export const locationTaken = (): JoustError =>
  new JoustError(
    ErrorCode.TableAlreadyExists,
    "a table already exists at that location, around it or inside it: choose another location",
  );
