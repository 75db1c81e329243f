import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import { auditedGrant } from "./audited-grant.js";
import { continuation, nextPage, pageMembers, readPage } from "./listing.js";
import { formatObject, grantAccess, onObject, parseObject } from "./objects.js";
import { formatPrivileges } from "./privilege-names.js";
import { formatSubject, namesOfKeys, parseSubject, subjectName } from "./subjects.js";

export const listGrants = operation({
  id: "ListGrants",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/admin/authz/acl/list",
  summary: "List the privileges of subjects on objects",
  tag: "Authorization",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      subject: Type.Optional(Type.String()),
      object: Type.Optional(Type.String()),
      ...pageMembers,
    }),
  },
  reply: Type.Object({
    entries: Type.Array(
      Type.Object({
        subject_id: Type.String(),
        subject_name: Type.Optional(Type.String()),
        object: Type.String(),
        privilege: Type.String(),
        filter: Type.Optional(Type.String({ description: "the rows that the privilege is for" })),
      }),
    ),
    ...nextPage,
  }),
  access: { ...grantAccess(), also: ({ payload }) => onObject(payload.object, "grant") },
  unrecorded: true,
  audited: (payload, { grants }) => auditedGrant(grants, payload),
  uses: ["grants"],
  async handle({ grants }, { payload }) {
    const { subject, object } = payload;
    const filter = {
      ...(subject !== undefined && { subject: await parseSubject(grants, subject) }),
      ...(object !== undefined && { object: parseObject(object) }),
    };
    const { items, pageToken } = await grants.list(filter, readPage(payload));
    const names = await namesOfKeys(
      grants,
      items.map((entry) => entry.subject),
    );
    const entries = items.flatMap((entry) =>
      formatPrivileges(entry.privileges).map((privilege) => ({
        subject_id: formatSubject(entry.subject),
        ...subjectName(names, entry.subject),
        object: formatObject(entry.object),
        privilege,
        ...(entry.filter !== undefined && { filter: entry.filter }),
      })),
    );
    return { kind: "json", value: { entries, ...continuation(pageToken) } };
  },
});
