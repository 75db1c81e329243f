//! Statements that joust does not have, and what to use instead.

use datafusion::sql::sqlparser::ast::{ObjectType, Statement};

use crate::error::{Code, Error};

/// The error of a rejected statement.
pub fn statement(statement: &Statement) -> Error {
    let instead = match statement {
        Statement::Insert(_) => "write INSERT INTO t [(columns)] VALUES … or SELECT …",
        Statement::Delete(_) => "write DELETE FROM t WHERE …",
        Statement::Merge(_) => "write MERGE INTO t USING …",
        Statement::Truncate(_) => "write DELETE FROM t",
        Statement::CreateTable(_) => {
            "write CREATE [OR REPLACE] TABLE t AS SELECT …, or the columns"
        }
        Statement::CreateView(_) => "there are materialized views: CREATE MATERIALIZED VIEW",
        Statement::CreateDatabase { .. } => "a namespace is a schema: CREATE SCHEMA",
        Statement::CreateIndex(_) => "write CREATE INDEX [name] ON t USING type (column)",
        Statement::AlterTable(_) => "write ALTER TABLE t",
        Statement::Drop { object_type, .. } => match object_type {
            ObjectType::View => "there are materialized views: DROP MATERIALIZED VIEW",
            ObjectType::Database => "a namespace is a schema: DROP SCHEMA",
            _ => "there are DROP TABLE, DROP SCHEMA, DROP INDEX and DROP MATERIALIZED VIEW",
        },
        Statement::ShowTables { .. }
        | Statement::ShowColumns { .. }
        | Statement::ShowSchemas { .. }
        | Statement::ShowDatabases { .. }
        | Statement::ShowViews { .. }
        | Statement::ExplainTable { .. } => {
            "SELECT from information_schema.tables, information_schema.columns or information_schema.schemata; \
             there are also SHOW MATERIALIZED VIEWS and DESCRIBE MATERIALIZED VIEW"
        }
        _ => {
            return Error::invalid(
                "a statement is a SELECT (WITH, VALUES and EXPLAIN too), INSERT, UPDATE, DELETE, MERGE, CREATE, \
                 ALTER, DROP, GRANT, REVOKE or REFRESH MATERIALIZED VIEW",
            );
        }
    };
    Error::new(
        Code::Unsupported,
        format!("this statement is not served; {instead}"),
    )
}
