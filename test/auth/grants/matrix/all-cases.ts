import type { Operation } from "../../../../src/api/operation.js";
import { operations, translations } from "../../../../src/operations/index.js";
import type { Case, Cases } from "./case.js";
import type { Route } from "./check.js";
import { otherCases } from "./other-cases.js";
import { sqlCases } from "./sql-cases.js";
import { tableCases } from "./table-cases.js";

/** The requests of every operation, in two parts: each is a test file that takes half of the time. */
export const parts: readonly Cases[] = [tableCases, { ...otherCases, ExecuteSql: sqlCases }];

export const cases: Cases = Object.assign({}, ...parts);

const titleOf = ({ id }: Operation, { method, path }: Route, { title }: Case): string =>
  [id, title, `(${method} ${path})`].filter((part) => part).join(" ");

/** All requests for the rows of `it.each`. */
export function requestsOf(part: Cases, isLancedb: boolean) {
  const routes = isLancedb ? lancedbRoutes() : contractRoutes();
  return routes.flatMap(([operation, route]) =>
    (part[operation.id] ?? []).map(
      (one) => [titleOf(operation, route, one), operation, route, one] as const,
    ),
  );
}

const contractRoutes = () =>
  operations.flatMap((operation) =>
    operation.methods.map((method): [Operation, Route] => [
      operation,
      { method, path: operation.path, isLancedb: false },
    ]),
  );

/** As LanceDB's SDKs send them, without the operations that have no other path. */
const lancedbRoutes = () =>
  translations.flatMap((translation) => {
    const operation = operations.find(({ id }) => id === translation.operation) as Operation;
    if (operation.dialect) return [];
    const path = translation.path ?? `${operation.path}/`;
    return (translation.methods ?? operation.methods).map((method): [Operation, Route] => [
      operation,
      { method, path, isLancedb: true },
    ]);
  });
