import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";

export const namespaceExists = operation({
  id: "NamespaceExists",
  methods: ["POST"],
  path: "/v1/namespace/{id}/exists",
  summary: "Check whether a namespace exists: 200 or 404",
  tag: "Namespace",
  params: nothing,
  body: { kind: "json", schema: nothing },
  access: accessTo("namespace"),
  uses: ["catalog"],
  async handle({ catalog }, { id }) {
    await catalog.describeNamespace(id);
    return { kind: "empty" };
  },
});
