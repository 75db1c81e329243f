import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nothing, stringMap } from "../../api/schemas.js";

export const describeNamespace = operation({
  id: "DescribeNamespace",
  methods: ["POST"],
  path: "/v1/namespace/{id}/describe",
  summary: "Describe a namespace",
  tag: "Namespace",
  params: nothing,
  body: { kind: "json", schema: nothing },
  reply: Type.Object({ properties: stringMap }),
  access: accessTo("namespace"),
  uses: ["catalog"],
  async handle({ catalog }, { id }) {
    const { properties } = await catalog.describeNamespace(id);
    return { kind: "json", value: { properties } };
  },
});
