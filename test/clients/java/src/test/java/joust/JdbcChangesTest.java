package joust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.Date;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Parameters of statements that change rows, with the Flight SQL driver for JDBC. */
class JdbcChangesTest {
  private final String table = Remote.newName();
  private Connection connection;

  @BeforeEach
  void create() throws Exception {
    connection = JdbcTest.connect();
    execute(
        "CREATE TABLE "
            + table
            + " (id INT, big BIGINT, price DOUBLE, name TEXT, ok BOOLEAN, day DATE, cost DECIMAL(9, 2))");
  }

  @AfterEach
  void close() throws SQLException {
    connection.close();
  }

  private void execute(String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.executeUpdate(sql);
    }
  }

  /** The first column of a query, as text. */
  private List<String> column(String sql) throws SQLException {
    List<String> values = new ArrayList<>();
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      while (rows.next()) values.add(rows.getString(1));
    }
    return values;
  }

  private PreparedStatement prepare(String sql) throws SQLException {
    return connection.prepareStatement(sql.replace("{t}", table));
  }

  @Test
  void valuesOfAllTypesAreBound() throws Exception {
    try (PreparedStatement insert = prepare("INSERT INTO {t} VALUES (?, ?, ?, ?, ?, ?, ?)")) {
      assertEquals(7, insert.getParameterMetaData().getParameterCount());
      assertEquals(Types.INTEGER, insert.getParameterMetaData().getParameterType(1));
      assertEquals(Types.DOUBLE, insert.getParameterMetaData().getParameterType(3));
      insert.setInt(1, 1);
      insert.setLong(2, 1L << 40);
      insert.setDouble(3, 0.5);
      insert.setString(4, "it's");
      insert.setBoolean(5, true);
      insert.setDate(6, Date.valueOf("2026-03-04"));
      insert.setBigDecimal(7, new BigDecimal("1.25"));
      assertEquals(1, insert.executeUpdate());
      insert.setInt(1, 2);
      int[] types = {Types.BIGINT, Types.DOUBLE, Types.VARCHAR, Types.BOOLEAN, Types.DATE};
      for (int at = 0; at < types.length; at++) insert.setNull(at + 2, types[at]);
      insert.setNull(7, Types.DECIMAL);
      assertEquals(1, insert.executeUpdate());
    }
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT * FROM " + table + " ORDER BY id")) {
      assertTrue(rows.next());
      assertEquals(1, rows.getInt(1));
      assertEquals(1L << 40, rows.getLong(2));
      assertEquals(0.5, rows.getDouble(3));
      assertEquals("it's", rows.getString(4));
      assertTrue(rows.getBoolean(5));
      assertEquals("2026-03-04", rows.getString(6));
      assertEquals(new BigDecimal("1.25"), rows.getBigDecimal(7));
      assertTrue(rows.next());
      for (int at = 2; at <= 7; at++) assertEquals(null, rows.getObject(at));
      assertFalse(rows.next());
    }
  }

  @Test
  void changedAndComparedColumnsGiveTypes() throws Exception {
    execute("INSERT INTO " + table + " (id, big, name) VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c')");
    try (PreparedStatement update = prepare("UPDATE {t} SET name = ?, price = ? WHERE big > ?")) {
      update.setString(1, "new");
      update.setDouble(2, 7.5);
      update.setLong(3, 10);
      assertEquals(2, update.executeUpdate());
    }
    try (PreparedStatement copy =
        prepare("INSERT INTO {t} (id, name) SELECT id + 10, name FROM {t} WHERE id = ?")) {
      copy.setInt(1, 3);
      assertEquals(1, copy.executeUpdate());
    }
    String merge =
        "MERGE INTO {t} USING (SELECT id, 'merged' AS name FROM {t} WHERE big < ?) AS s"
            + " ON {t}.id = s.id WHEN MATCHED THEN UPDATE SET *";
    try (PreparedStatement merged = prepare(merge)) {
      merged.setLong(1, 15);
      assertEquals(1, merged.executeUpdate());
    }
    assertEquals(
        List.of("merged", "new", "new", "new"),
        column("SELECT name FROM " + table + " ORDER BY id"));
    try (PreparedStatement delete = prepare("DELETE FROM {t} WHERE price > ? OR name = ?")) {
      delete.setDouble(1, 7);
      delete.setString(2, "merged");
      assertEquals(3, delete.executeUpdate());
    }
  }

  @Test
  void aBatchOfInsertsIsOneCommit() throws Exception {
    int versions = versions();
    try (PreparedStatement insert = prepare("INSERT INTO {t} (id, name) VALUES (?, ?)")) {
      for (int id = 0; id < 500; id++) {
        insert.setInt(1, id);
        if (id % 2 == 0) insert.setString(2, "name " + id);
        else insert.setNull(2, Types.VARCHAR);
        insert.addBatch();
      }
      assertEquals(500, Arrays.stream(insert.executeBatch()).sum());
    }
    assertEquals(versions + 1, versions());
    assertEquals(
        List.of("500"), column("SELECT count(*) FROM " + table));
    assertEquals(
        List.of("250"), column("SELECT count(name) FROM " + table));
  }

  private int versions() throws Exception {
    return Remote.tables()
        .listTableVersions(table, Remote.DELIMITER, null, null, null)
        .getVersions()
        .size();
  }

  @Test
  void aBatchOfOtherChangesRunsInOrder() throws Exception {
    execute("INSERT INTO " + table + " (id) VALUES (1), (2), (3)");
    try (PreparedStatement update = prepare("UPDATE {t} SET name = ? WHERE id >= ?")) {
      for (int id = 1; id <= 3; id++) {
        update.setString(1, "from " + id);
        update.setInt(2, id);
        update.addBatch();
      }
      assertEquals(3 + 2 + 1, Arrays.stream(update.executeBatch()).sum());
    }
    assertEquals(
        List.of("from 1", "from 2", "from 3"),
        column("SELECT name FROM " + table + " ORDER BY id"));
  }

  @Test
  void aFailingBatchSaysWhichRow() throws Exception {
    String insert = "INSERT INTO {t} (id) SELECT CAST(upper(?) AS INT)";
    try (PreparedStatement statement = prepare(insert)) {
      for (String id : List.of("1", "word", "3")) {
        statement.setString(1, id);
        statement.addBatch();
      }
      SQLException failure = assertThrows(SQLException.class, statement::executeBatch);
      assertTrue(failure.getMessage().contains("row 2 of 3"), failure.getMessage());
      assertTrue(failure.getMessage().contains("row 1 was applied"), failure.getMessage());
    }
    assertEquals(List.of("1"), column("SELECT id FROM " + table));
  }
}
