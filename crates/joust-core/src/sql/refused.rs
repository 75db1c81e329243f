//! Rejected statements that are not queries, and the operations to use instead.

use datafusion::sql::sqlparser::ast::{ObjectType, Statement};

use crate::error::{Code, Error};

/// The error of a rejected statement: names the operation to use instead, if there is one.
pub fn statement(statement: &Statement) -> Error {
    let (what, operation) = match statement {
        Statement::Insert(_) => ("INSERT", "InsertIntoTable, POST /v1/table/{id}/insert"),
        Statement::Update(_) => ("UPDATE", "UpdateTable, POST /v1/table/{id}/update"),
        Statement::Delete(_) => ("DELETE", "DeleteFromTable, POST /v1/table/{id}/delete"),
        Statement::Truncate(_) => (
            "TRUNCATE",
            "DeleteFromTable, POST /v1/table/{id}/delete with the predicate true",
        ),
        Statement::Merge(_) => (
            "MERGE",
            "MergeInsertIntoTable, POST /v1/table/{id}/merge_insert",
        ),
        Statement::CreateTable(_) => ("CREATE TABLE", "CreateTable, POST /v1/table/{id}/create"),
        Statement::CreateView(_) => (
            "CREATE VIEW",
            "CreateMaterializedView, POST /v1/materialized_view/{id}/create",
        ),
        Statement::CreateSchema { .. } | Statement::CreateDatabase { .. } => (
            "CREATE SCHEMA",
            "CreateNamespace, POST /v1/namespace/{id}/create",
        ),
        Statement::CreateIndex(_) => (
            "CREATE INDEX",
            "CreateTableIndex, POST /v1/table/{id}/create_index, or CreateTableScalarIndex",
        ),
        Statement::AlterTable(_) => (
            "ALTER TABLE",
            "AlterTableAddColumns, AlterTableAlterColumns and AlterTableDropColumns, \
             POST /v1/table/{id}/add_columns, /alter_columns, /drop_columns; and RenameTable",
        ),
        Statement::Drop { object_type, .. } => match object_type {
            ObjectType::Schema | ObjectType::Database => {
                ("DROP SCHEMA", "DropNamespace, POST /v1/namespace/{id}/drop")
            }
            ObjectType::Index => (
                "DROP INDEX",
                "DropTableIndex, POST /v1/table/{id}/index/{index_name}/drop",
            ),
            ObjectType::View | ObjectType::MaterializedView => (
                "DROP VIEW",
                "DropMaterializedView, POST /v1/materialized_view/{id}/drop",
            ),
            _ => ("DROP", "DropTable, POST /v1/table/{id}/drop"),
        },
        Statement::ShowTables { .. }
        | Statement::ShowColumns { .. }
        | Statement::ShowSchemas { .. }
        | Statement::ShowDatabases { .. }
        | Statement::ExplainTable { .. } => {
            return Error::new(
                Code::Unsupported,
                "SHOW and DESCRIBE are not served; SELECT from information_schema.tables, \
                 information_schema.columns or information_schema.schemata",
            );
        }
        _ => {
            return Error::invalid(
                "a statement is one SELECT (WITH, VALUES and EXPLAIN too) and nothing else",
            );
        }
    };
    Error::new(
        Code::Unsupported,
        format!("SQL only reads: use {operation} in place of {what}"),
    )
}
