import { createNamespace } from "./create-namespace.js";
import { describeNamespace } from "./describe-namespace.js";
import { dropNamespace } from "./drop-namespace.js";
import { listNamespaces } from "./list-namespaces.js";
import { namespaceExists } from "./namespace-exists.js";

export const namespaces = [
  createNamespace,
  listNamespaces,
  describeNamespace,
  namespaceExists,
  dropNamespace,
];
