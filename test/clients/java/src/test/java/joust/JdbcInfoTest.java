package joust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the Flight SQL driver for JDBC learns about the server. */
class JdbcInfoTest {
  @Test
  void functionsAndKeywordsAreListed() throws Exception {
    try (Connection connection = JdbcTest.connect()) {
      DatabaseMetaData metadata = connection.getMetaData();
      assertTrue(names(metadata.getNumericFunctions()).containsAll(List.of("abs", "sqrt", "round")));
      assertTrue(names(metadata.getStringFunctions()).containsAll(List.of("upper", "substring")));
      assertTrue(names(metadata.getSystemFunctions()).containsAll(List.of("ifnull", "version")));
      assertTrue(names(metadata.getTimeDateFunctions()).containsAll(List.of("now", "date_trunc")));
      assertTrue(names(metadata.getSQLKeywords()).containsAll(List.of("MATERIALIZED", "MERGE")));
      assertFalse(names(metadata.getNumericFunctions()).contains("generate_series"));
    }
  }

  private static List<String> names(String list) {
    return Arrays.stream(list.split(",")).map(String::strip).toList();
  }

  @Test
  void theLanguageIsDescribed() throws Exception {
    try (Connection connection = JdbcTest.connect()) {
      DatabaseMetaData metadata = connection.getMetaData();
      assertTrue(metadata.supportsUnion());
      assertTrue(metadata.supportsUnionAll());
      assertTrue(metadata.supportsGroupBy());
      assertTrue(metadata.supportsGroupByUnrelated());
      assertTrue(metadata.supportsGroupByBeyondSelect());
      assertTrue(metadata.supportsOuterJoins());
      assertTrue(metadata.supportsFullOuterJoins());
      assertTrue(metadata.supportsLimitedOuterJoins());
      assertTrue(metadata.supportsSubqueriesInComparisons());
      assertTrue(metadata.supportsSubqueriesInExists());
      assertTrue(metadata.supportsSubqueriesInIns());
      assertTrue(metadata.supportsSubqueriesInQuantifieds());
      assertTrue(metadata.supportsCorrelatedSubqueries());
      assertTrue(metadata.supportsMinimumSQLGrammar());
      assertFalse(metadata.supportsCoreSQLGrammar());
      assertFalse(metadata.supportsANSI92EntryLevelSQL());
      assertFalse(metadata.supportsLikeEscapeClause());
      assertTrue(metadata.supportsNonNullableColumns());
      assertTrue(metadata.supportsSchemasInIndexDefinitions());
      assertTrue(metadata.supportsSchemasInPrivilegeDefinitions());
      assertFalse(metadata.supportsCatalogsInIndexDefinitions());
      assertEquals("\"", metadata.getIdentifierQuoteString());
      assertEquals("namespace", metadata.getSchemaTerm());
    }
  }

  @Test
  void limitsAndTransactionsAreDescribed() throws Exception {
    try (Connection connection = JdbcTest.connect()) {
      DatabaseMetaData metadata = connection.getMetaData();
      assertEquals(65_536, metadata.getMaxStatementLength());
      assertEquals(32, metadata.getMaxTablesInSelect());
      assertEquals(1, metadata.getMaxColumnsInIndex());
      assertEquals(0, metadata.getMaxColumnsInTable());
      assertEquals(128, metadata.getMaxTableNameLength());
      assertFalse(metadata.supportsTransactions());
      assertFalse(metadata.supportsSavepoints());
      assertTrue(metadata.supportsBatchUpdates());
      assertEquals(Connection.TRANSACTION_NONE, metadata.getDefaultTransactionIsolation());
      assertTrue(metadata.supportsResultSetType(ResultSet.TYPE_FORWARD_ONLY));
      assertFalse(metadata.supportsResultSetType(ResultSet.TYPE_SCROLL_INSENSITIVE));
    }
  }
}
