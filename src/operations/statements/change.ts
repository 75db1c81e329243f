/** What a statement changes: the engine reads it (`crates/joust-core/src/sql/change/mod.rs`). */
import type { Privilege } from "../../catalog/grants/privileges.js";

/** A name as written in the statement, in parts. */
export type Name = readonly string[];

/** The options in `WITH (name = value)`. */
export type Options = Readonly<Record<string, unknown>>;

/** The change of a column, as AlterTableAlterColumns takes it. */
interface Alteration {
  readonly path: string;
  readonly data_type?: { readonly type: string };
  readonly nullable?: boolean;
}

/** A clause of MERGE. */
interface Action {
  readonly filter?: string;
}

export type Change =
  | { readonly kind: "insert"; readonly table: Name }
  | { readonly kind: "delete"; readonly table: Name; readonly predicate: string }
  | {
      readonly kind: "update";
      readonly table: Name;
      readonly updates: readonly (readonly [path: string, expression: string])[];
      readonly predicate?: string;
    }
  | {
      readonly kind: "merge";
      readonly table: Name;
      readonly on: readonly string[];
      readonly update?: Action;
      readonly insert: boolean;
      readonly delete?: Action;
    }
  | {
      readonly kind: "create_table";
      readonly table: Name;
      readonly ifNotExists: boolean;
      readonly replace: boolean;
    }
  | { readonly kind: "drop_table"; readonly table: Name; readonly ifExists: boolean }
  | { readonly kind: "create_schema"; readonly schema: Name; readonly ifNotExists: boolean }
  | {
      readonly kind: "drop_schema";
      readonly schema: Name;
      readonly ifExists: boolean;
      readonly cascade: boolean;
    }
  | { readonly kind: "add_columns"; readonly table: Name }
  | { readonly kind: "drop_columns"; readonly table: Name; readonly columns: readonly string[] }
  | {
      readonly kind: "rename_column";
      readonly table: Name;
      readonly column: string;
      readonly name: string;
    }
  | {
      readonly kind: "alter_columns";
      readonly table: Name;
      readonly alterations: readonly Alteration[];
    }
  | { readonly kind: "rename_table"; readonly table: Name; readonly name: Name }
  | {
      readonly kind: "create_index";
      readonly table: Name;
      readonly name?: string;
      readonly column: string;
      readonly indexType: string;
      readonly ifNotExists: boolean;
      readonly options: Options;
    }
  | {
      readonly kind: "drop_index";
      readonly table: Name;
      readonly name: string;
      readonly ifExists: boolean;
    }
  | {
      readonly kind: "grant";
      readonly privileges: readonly Privilege[];
      readonly object: Granted;
      readonly subject: string;
      readonly filter?: string;
    }
  | {
      readonly kind: "revoke";
      readonly privileges: readonly Privilege[];
      readonly object: Granted;
      readonly subject: string;
    }
  | {
      readonly kind: "create_view";
      readonly view: Name;
      readonly replace: boolean;
      readonly ifNotExists: boolean;
      readonly query: string;
      readonly options: Options;
    }
  | { readonly kind: "refresh_view"; readonly view: Name; readonly options: Options }
  | { readonly kind: "drop_view"; readonly view: Name; readonly ifExists: boolean }
  | { readonly kind: "describe_view"; readonly view: Name }
  | {
      readonly kind: "show_views";
      readonly schema?: Name;
      readonly after?: string;
      readonly limit?: number;
    };

/** The object of a grant. */
export type Granted =
  | { readonly kind: "server" }
  | { readonly kind: "schema"; readonly name: Name }
  | { readonly kind: "table"; readonly name: Name };

/** A change of the rows of a table that exists. */
export type RowChange = Extract<Change, { kind: "insert" | "delete" | "update" | "merge" }>;

export const changesRows = (change: Change): change is RowChange =>
  ["insert", "delete", "update", "merge"].includes(change.kind);

/** A change of one kind. */
export type ChangeOf<Kind extends Change["kind"]> = Extract<Change, { kind: Kind }>;
