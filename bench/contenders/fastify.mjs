/** @import { Contender } from "../types.js" */
import { copyTables } from "./copy-tables.mjs";
import { httpContender } from "./http-contender.mjs";
import { listening, startProgram } from "./program.mjs";
import { installService, serviceDialect } from "./service.mjs";

const PACKAGES = { fastify: "5.12.8", "@lancedb/lancedb": "0.39.0", "apache-arrow": "18.1.0" };

let service = "";

/** A small service around the LanceDB SDK for Node, the usual solution without joust. @type {Contender} */
export const fastify = {
  key: "fastify",
  title: "Fastify + @lancedb/lancedb",
  copiesTablesOf: "lance",
  async checkAvailable({ install }) {
    const installed = installService({ name: "fastify-lancedb", packages: PACKAGES, install });
    if (installed.reason !== undefined) return installed.reason;
    service = installed.service;
  },
  prepare: (workspace) => copyTables(workspace, "lance"),
  async start({ folder, cores, dataset: { distance } }) {
    const program = startProgram(process.execPath, [service, folder, distance], { cores });
    const url = await listening(program);
    return httpContender(program, { ...serviceDialect(url), checkSupported: () => undefined });
  },
};
