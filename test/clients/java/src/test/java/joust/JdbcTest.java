package joust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The Flight SQL driver for JDBC. */
class JdbcTest {
  private String table;

  @BeforeEach
  void create() throws Exception {
    table = Remote.newTable(100);
  }

  private static Connection connect(String key) throws SQLException {
    Properties properties = new Properties();
    properties.setProperty("useEncryption", "false");
    properties.setProperty("user", "any");
    properties.setProperty("password", key);
    String port = System.getenv("JOUST_SQL_PORT");
    return DriverManager.getConnection("jdbc:arrow-flight-sql://127.0.0.1:" + port, properties);
  }

  static Connection connect() throws SQLException {
    return connect(System.getenv("JOUST_KEY"));
  }

  @Test
  void aStatementGivesItsRows() throws Exception {
    try (Connection connection = connect();
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery("SELECT id, name FROM " + table + " WHERE id < 3 ORDER BY id")) {
      for (long id = 0; id < 3; id++) {
        assertTrue(rows.next());
        assertEquals(id, rows.getLong("id"));
        assertEquals("item " + id, rows.getString("name"));
      }
      assertFalse(rows.next());
    }
  }

  @Test
  void aPreparedStatementHasParameters() throws Exception {
    String sql = "SELECT name FROM " + table + " WHERE id = ?";
    try (Connection connection = connect();
        PreparedStatement statement = connection.prepareStatement(sql)) {
      for (long id : new long[] {7, 8}) {
        statement.setLong(1, id);
        try (ResultSet rows = statement.executeQuery()) {
          assertTrue(rows.next());
          assertEquals("item " + id, rows.getString(1));
          assertFalse(rows.next());
        }
      }
    }
  }

  @Test
  void aStatementChangesRows() throws Exception {
    try (Connection connection = connect();
        Statement statement = connection.createStatement()) {
      assertFalse(connection.getMetaData().isReadOnly());
      assertEquals(2, statement.executeUpdate("DELETE FROM " + table + " WHERE id < 2"));
      String insert = "INSERT INTO " + table + " SELECT * FROM " + table + " WHERE id = ?";
      try (PreparedStatement prepared = connection.prepareStatement(insert)) {
        prepared.setLong(1, 7);
        assertEquals(1, prepared.executeUpdate());
      }
      try (ResultSet rows = statement.executeQuery("SELECT count(*) FROM " + table)) {
        assertTrue(rows.next());
        assertEquals(99, rows.getLong(1));
      }
    }
  }

  @Test
  void theMetadataListTheCatalog() throws Exception {
    try (Connection connection = connect()) {
      assertEquals("joust", connection.getMetaData().getDatabaseProductName());
      List<String> columns = new ArrayList<>();
      try (ResultSet found = connection.getMetaData().getColumns("joust", "public", table, null)) {
        while (found.next()) columns.add(found.getString("COLUMN_NAME"));
      }
      assertTrue(columns.contains("id"), columns.toString());
      assertTrue(columns.contains("vector"), columns.toString());
      try (ResultSet keys = connection.getMetaData().getPrimaryKeys("joust", "public", table)) {
        assertFalse(keys.next());
      }
    }
  }

  @Test
  void aFailureHasItsMessage() throws Exception {
    try (Connection connection = connect();
        Statement statement = connection.createStatement()) {
      SQLException failure =
          assertThrows(
              SQLException.class, () -> statement.executeQuery("SELECT * FROM no_such_table"));
      assertTrue(failure.getMessage().contains("no_such_table"), failure.getMessage());
    }
    assertThrows(SQLException.class, () -> connect("joust_wrong").close());
  }
}
