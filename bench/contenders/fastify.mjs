/** @import { Contender } from "../types.js" */
import { copyTables } from "./copy-tables.mjs";
import { overHttp } from "./http.mjs";
import { listening, startProgram } from "./process.mjs";
import { installService, serviceDialect } from "./service.mjs";

const PACKAGES = { fastify: "5.12.8", "@lancedb/lancedb": "0.39.0", "apache-arrow": "18.1.0" };

let service = "";

/** What a user writes today: a small service around the LanceDB SDK for Node. @type {Contender} */
export const fastify = {
  key: "fastify",
  title: "Fastify + @lancedb/lancedb",
  needs: "lance",
  async missing({ install }) {
    const found = installService({ name: "fastify-lancedb", packages: PACKAGES, install });
    if (found.reason !== undefined) return found.reason;
    service = found.service;
  },
  prepare: (place) => copyTables(place, "lance"),
  async start({ folder, cores, dataset: { distance } }) {
    const program = startProgram(process.execPath, [service, folder, distance], { cores });
    const url = await listening(program);
    return overHttp(program, { ...serviceDialect(url), refuses: () => undefined });
  },
};
