//! What the server can do, for `GetSqlInfo`. Tests of clients run a statement for each answer that a statement can prove.

use std::collections::HashMap;

use arrow_flight::error::FlightError;
use arrow_flight::sql::metadata::{SqlInfoData, SqlInfoDataBuilder};
use arrow_flight::sql::{
    SqlInfo as I, SqlNullOrdering, SqlOuterJoinsSupportLevel as Joins, SqlSupportedCaseSensitivity,
    SqlSupportedElementActions as Actions, SqlSupportedGroupBy as GroupBy,
    SqlSupportedResultSetConcurrency as Concurrency, SqlSupportedResultSetType as ResultSet,
    SqlSupportedSubqueries as Subqueries, SqlSupportedTransaction, SqlSupportedUnions as Unions,
    SqlSupportsConvert as Convert, SqlTransactionIsolationLevel as Isolation, SupportedSqlGrammar,
};

use crate::backend::Functions;
use crate::prepared::{IDLE, MOST_OF_A_CALLER};
use crate::server::MOST_CONNECTIONS;

/// Bytes of a statement: `MAX_LENGTH` in the engine. A literal is a part of it.
const MOST_STATEMENT: i64 = 64 << 10;
/// Tables in a statement: `MAX_RELATIONS` in the engine.
const MOST_RELATIONS: i64 = 32;
/// Characters of the name of a table or a namespace: `MAX_CHARACTERS` in the catalog.
const MOST_NAME: i64 = 128;
/// The answer where nothing but the length of the statement limits a number.
const NO_LIMIT: i64 = 0;

/// The words of the statements that joust serves.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "ADD", "ALL", "ALTER", "AND", "ANY", "ARRAY", "AS", "ASC", "BETWEEN", "BY", "CASCADE", "CASE", "CAST",
    "COLUMN", "CREATE", "CROSS", "CURRENT", "DELETE", "DESC", "DESCRIBE", "DISTINCT", "DROP", "ELSE", "END",
    "ESCAPE", "EXCEPT", "EXISTS", "EXPLAIN", "EXTRACT", "FALSE", "FILTER", "FIRST", "FOLLOWING", "FOR", "FROM",
    "FULL", "GRANT", "GROUP", "HAVING", "IF", "IN", "INDEX", "INNER", "INSERT", "INTERSECT", "INTERVAL", "INTO",
    "IS", "JOIN", "LAST", "LEFT", "LIKE", "LIMIT", "MATCHED", "MATERIALIZED", "MERGE", "NATURAL", "NOT", "NULL",
    "NULLS", "OF", "OFFSET", "ON", "OR", "ORDER", "OUTER", "OVER", "PARTITION", "PRECEDING", "RANGE", "REFRESH",
    "RENAME", "REPLACE", "REVOKE", "RIGHT", "ROWS", "SCHEMA", "SELECT", "SET", "SHOW", "SOURCE", "TABLE", "TARGET",
    "THEN", "TIMESTAMP", "TO", "TRUE", "UNBOUNDED", "UNION", "UPDATE", "USING", "VALUES", "VERSION", "VIEW",
    "VIEWS", "WHEN", "WHERE", "WITH",
];

/// Types of which a CAST takes a value of any to any.
const NUMBERS: [Convert; 7] = [
    Convert::SqlConvertBigint,
    Convert::SqlConvertDecimal,
    Convert::SqlConvertFloat,
    Convert::SqlConvertInteger,
    Convert::SqlConvertReal,
    Convert::SqlConvertSmallint,
    Convert::SqlConvertTinyint,
];

pub fn server_info(functions: Functions) -> Result<SqlInfoData, FlightError> {
    let mut info = SqlInfoDataBuilder::new();
    server(&mut info);
    language(&mut info, functions);
    limits(&mut info);
    transactions(&mut info);
    info.build()
}

fn server(info: &mut SqlInfoDataBuilder) {
    info.append(I::FlightSqlServerName, "joust");
    info.append(I::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    info.append(I::FlightSqlServerArrowVersion, "1.3");
    info.append(I::FlightSqlServerReadOnly, false);
    info.append(I::FlightSqlServerSql, true);
    info.append(I::FlightSqlServerSubstrait, false);
    let transactions = SqlSupportedTransaction::None as i32;
    info.append(I::FlightSqlServerTransaction, transactions);
    info.append(I::FlightSqlServerCancel, true);
    info.append(I::FlightSqlServerBulkIngestion, true);
    info.append(I::FlightSqlServerIngestTransactionsSupported, false);
    // Of a prepared statement that is not used, ms.
    let idle = i32::try_from(IDLE.as_millis()).unwrap_or(i32::MAX);
    info.append(I::FlightSqlServerStatementTimeout, idle);
    info.append(I::FlightSqlServerTransactionTimeout, 0_i32);
}

fn language(info: &mut SqlInfoDataBuilder, functions: Functions) {
    info.append(I::SqlDdlCatalog, false);
    info.append(I::SqlDdlSchema, true);
    info.append(I::SqlDdlTable, true);
    // Flight SQL has no value for names that keep their case: quoted and unquoted names are both case sensitive.
    let case = SqlSupportedCaseSensitivity::SqlCaseSensitivityUnknown as i32;
    info.append(I::SqlIdentifierCase, case);
    info.append(I::SqlQuotedIdentifierCase, case);
    info.append(I::SqlIdentifierQuoteChar, "\"");
    info.append(I::SqlExtraNameCharacters, "#$@");
    info.append(I::SqlSearchStringEscape, "\\");
    info.append(I::SqlKeywords, KEYWORDS);
    info.append(I::SqlNumericFunctions, functions.numeric);
    info.append(I::SqlStringFunctions, functions.string);
    info.append(I::SqlDatetimeFunctions, functions.datetime);
    info.append(I::SqlSystemFunctions, functions.system);
    info.append(I::SqlSupportsConvert, conversions());
    info.append(I::SqlAllTablesAreSelectable, true);
    let nulls = SqlNullOrdering::SqlNullsSortedHigh as i32;
    info.append(I::SqlNullOrdering, nulls);
    info.append(I::SqlSupportsColumnAliasing, true);
    info.append(I::SqlNullPlusNullIsNull, true);
    info.append(I::SqlSupportsExpressionsInOrderBy, true);
    info.append(I::SqlSupportsOrderByUnrelated, true);
    info.append(I::SqlSupportsTableCorrelationNames, true);
    // An alias may be the name of the table.
    info.append(I::SqlSupportsDifferentTableCorrelationNames, false);
    info.append(
        I::SqlSupportedGroupBy,
        bits([
            GroupBy::SqlGroupByUnrelated as i32,
            GroupBy::SqlGroupByBeyondSelect as i32,
        ]),
    );
    info.append(I::SqlSupportsLikeEscapeClause, false);
    info.append(I::SqlSupportsNonNullableColumns, true);
    // The core grammar of ODBC and SQL-92 have views that are computed when they are read.
    let grammar = SupportedSqlGrammar::SqlMinimumGrammar as i32;
    info.append(I::SqlSupportedGrammar, bits([grammar]));
    info.append(I::SqlAnsi92SupportedLevel, 0_i32);
    info.append(I::SqlSupportsIntegrityEnhancementFacility, false);
    info.append(
        I::SqlOuterJoinsSupportLevel,
        bits([
            Joins::SqlLimitedOuterJoins as i32,
            Joins::SqlFullOuterJoins as i32,
        ]),
    );
    info.append(I::SqlSchemaTerm, "namespace");
    info.append(I::SqlCatalogTerm, "catalog");
    info.append(I::SqlProcedureTerm, "");
    // A name in a statement has no catalog.
    info.append(I::SqlCatalogAtStart, false);
    info.append(I::SqlCatalogsSupportedActions, 0_i32);
    info.append(
        I::SqlSchemasSupportedActions,
        bits([
            Actions::SqlElementInIndexDefinitions as i32,
            Actions::SqlElementInPrivilegeDefinitions as i32,
        ]),
    );
    info.append(I::SqlSupportedPositionedCommands, 0_i32);
    info.append(I::SqlSelectForUpdateSupported, false);
    info.append(I::SqlStoredProceduresSupported, false);
    info.append(I::SqlStoredFunctionsUsingCallSyntaxSupported, false);
    info.append(
        I::SqlSupportedSubqueries,
        bits([
            Subqueries::SqlSubqueriesInComparisons as i32,
            Subqueries::SqlSubqueriesInExists as i32,
            Subqueries::SqlSubqueriesInIns as i32,
            Subqueries::SqlSubqueriesInQuantifieds as i32,
        ]),
    );
    info.append(I::SqlCorrelatedSubqueriesSupported, true);
    let unions = bits([Unions::SqlUnion as i32, Unions::SqlUnionAll as i32]);
    info.append(I::SqlSupportedUnions, unions);
    // Of stored procedures.
    info.append(I::SqlNamedParametersSupported, false);
    // A client gets its own copy of a value.
    info.append(I::SqlLocatorsUpdateCopy, true);
}

fn limits(info: &mut SqlInfoDataBuilder) {
    let of = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    for (limit, most) in [
        (I::SqlMaxBinaryLiteralLength, MOST_STATEMENT),
        (I::SqlMaxCharLiteralLength, MOST_STATEMENT),
        (I::SqlMaxStatementLength, MOST_STATEMENT),
        (I::SqlMaxColumnNameLength, NO_LIMIT),
        (I::SqlMaxColumnsInGroupBy, NO_LIMIT),
        (I::SqlMaxColumnsInIndex, 1),
        (I::SqlMaxColumnsInOrderBy, NO_LIMIT),
        (I::SqlMaxColumnsInSelect, NO_LIMIT),
        (I::SqlMaxColumnsInTable, NO_LIMIT),
        (I::SqlMaxConnections, of(MOST_CONNECTIONS)),
        (I::SqlMaxCursorNameLength, NO_LIMIT),
        (I::SqlMaxIndexLength, NO_LIMIT),
        (I::SqlDbSchemaNameLength, NO_LIMIT),
        (I::SqlMaxProcedureNameLength, NO_LIMIT),
        (I::SqlMaxCatalogNameLength, NO_LIMIT),
        (I::SqlMaxRowSize, NO_LIMIT),
        (I::SqlMaxStatements, of(MOST_OF_A_CALLER)),
        (I::SqlMaxTableNameLength, MOST_NAME),
        (I::SqlMaxTablesInSelect, MOST_RELATIONS),
        (I::SqlMaxUsernameLength, NO_LIMIT),
    ] {
        info.append(limit, most);
    }
    info.append(I::SqlMaxRowSizeIncludesBlobs, true);
}

fn transactions(info: &mut SqlInfoDataBuilder) {
    let none = Isolation::SqlTransactionNone as i32;
    info.append(I::SqlTransactionsSupported, false);
    // The specification has an int32; the JDBC driver reads an int64.
    info.append(I::SqlDefaultTransactionIsolation, i64::from(none));
    info.append(I::SqlSupportedTransactionsIsolationLevels, bits([none]));
    info.append(I::SqlDataDefinitionCausesTransactionCommit, false);
    info.append(I::SqlDataDefinitionsInTransactionsIgnored, false);
    info.append(I::SqlSavepointsSupported, false);
    info.append(I::SqlBatchUpdatesSupported, true);
    let forward = ResultSet::SqlResultSetTypeForwardOnly as i32;
    info.append(I::SqlSupportedResultSetTypes, bits([forward]));
    let read_only = bits([Concurrency::SqlResultSetConcurrencyReadOnly as i32]);
    for (result_set, concurrency) in [
        (I::SqlSupportedConcurrenciesForResultSetUnspecified, 0),
        (
            I::SqlSupportedConcurrenciesForResultSetForwardOnly,
            read_only,
        ),
        (I::SqlSupportedConcurrenciesForResultSetScrollSensitive, 0),
        (I::SqlSupportedConcurrenciesForResultSetScrollInsensitive, 0),
    ] {
        info.append(result_set, concurrency);
    }
}

/// A mask of the bits with these numbers.
fn bits<const N: usize>(numbers: [i32; N]) -> i32 {
    numbers.iter().fold(0, |mask, number| mask | 1 << number)
}

/// What a CAST takes: the types of values, and those that each becomes.
fn conversions() -> HashMap<i32, Vec<i32>> {
    let text = Convert::SqlConvertVarchar;
    let bytes = Convert::SqlConvertVarbinary;
    let bit = Convert::SqlConvertBit;
    let [date, time, timestamp] = [
        Convert::SqlConvertDate,
        Convert::SqlConvertTime,
        Convert::SqlConvertTimestamp,
    ];
    let numbers = |others: &[Convert]| [&NUMBERS[..], others].concat();
    let mut conversions: Vec<(Convert, Vec<Convert>)> = NUMBERS
        .iter()
        .map(|from| (*from, numbers(&[text])))
        .collect();
    conversions.extend([
        (text, numbers(&[text, bytes, bit, date, time, timestamp])),
        (bytes, vec![bytes, text]),
        (bit, vec![bit, text, Convert::SqlConvertInteger]),
        (date, vec![date, timestamp, text]),
        (time, vec![time, text]),
        (timestamp, vec![timestamp, date, time, text]),
    ]);
    let ids = |types: Vec<Convert>| types.into_iter().map(|to| to as i32).collect();
    conversions
        .into_iter()
        .map(|(from, to)| (from as i32, ids(to)))
        .collect()
}
