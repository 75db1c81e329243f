package joust;

import static joust.Remote.DELIMITER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.lance.namespace.client.apache.api.TableApi;
import org.lance.namespace.model.AnalyzeTableQueryPlanRequest;
import org.lance.namespace.model.CountTableRowsRequest;
import org.lance.namespace.model.DeleteFromTableRequest;
import org.lance.namespace.model.ExplainTableQueryPlanRequest;
import org.lance.namespace.model.QueryTableRequest;
import org.lance.namespace.model.QueryTableRequestColumns;
import org.lance.namespace.model.QueryTableRequestVector;
import org.lance.namespace.model.UpdateTableRequest;

class RowsTest {
  private final TableApi tables = Remote.tables();
  private String table;

  @BeforeEach
  void create() throws Exception {
    table = Remote.newTable(100);
  }

  private long count(String predicate) throws Exception {
    return tables.countTableRows(
        table, new CountTableRowsRequest().predicate(predicate), DELIMITER);
  }

  private static QueryTableRequest near(long id, int k) {
    return new QueryTableRequest()
        .vector(new QueryTableRequestVector().singleVector(Items.vectorOf(id)))
        .k(k);
  }

  @Test
  void areInsertedUpdatedAndDeleted() throws Exception {
    var inserted = tables.insertIntoTable(table, Items.stream(100, 50), DELIMITER, "append");
    assertTrue(inserted.getTransactionId() != null);
    assertEquals(150, count(null));
    assertEquals(10, count("price < 5"));
    var update =
        new UpdateTableRequest().predicate("id < 3").updates(List.of(List.of("name", "'first'")));
    assertEquals(3, tables.updateTable(table, update, DELIMITER).getUpdatedRows());
    assertEquals(3, count("name = 'first'"));
    tables.deleteFromTable(table, new DeleteFromTableRequest().predicate("id < 100"), DELIMITER);
    assertEquals(50, count(null));
    Remote.fails(400, 13, () -> count("id ="));
    tables.insertIntoTable(table, Items.stream(0, 7), DELIMITER, "overwrite");
    assertEquals(7, count(null));
  }

  @Test
  void areMerged() throws Exception {
    var merged =
        tables.mergeInsertIntoTable(
            table, "id", Items.stream(90, 20), DELIMITER, true, null, true, false, null, "30s", null);
    assertEquals(10, merged.getNumUpdatedRows());
    assertEquals(10, merged.getNumInsertedRows());
    assertEquals(110, count(null));
  }

  @Test
  void areFoundByVector() throws Exception {
    byte[] answer = tables.queryTable(table, near(42, 3), DELIMITER);
    assertEquals(42L, Items.column(answer, "id").get(0));
    assertEquals(0f, (float) Items.column(answer, "_distance").get(0), 1e-5f);
    QueryTableRequest filtered =
        near(42, 3)
            .filter("id < 10")
            .prefilter(true)
            .columns(new QueryTableRequestColumns().columnNames(List.of("id")));
    List<Object> ids = Items.column(tables.queryTable(table, filtered, DELIMITER), "id");
    assertEquals(3, ids.size());
    assertTrue(ids.stream().allMatch(id -> (Long) id < 10));
    QueryTableRequest two =
        new QueryTableRequest()
            .vector(
                new QueryTableRequestVector()
                    .multiVector(List.of(Items.vectorOf(3), Items.vectorOf(4))))
            .k(1);
    byte[] both = tables.queryTable(table, two, DELIMITER);
    assertEquals(List.of(3L, 4L), Items.column(both, "id"));
    assertEquals(List.of(0, 1), Items.column(both, "query_index"));
  }

  @Test
  void areFoundWithoutAVector() throws Exception {
    QueryTableRequest query =
        new QueryTableRequest()
            .vector(new QueryTableRequestVector())
            .filter("id >= 10")
            .k(3)
            .offset(1)
            .columns(new QueryTableRequestColumns().columnAliases(Map.of("twice", "id * 2")));
    byte[] answer = tables.queryTable(table, query, DELIMITER);
    assertEquals(List.of(22L, 24L, 26L), Items.column(answer, "twice"));
  }

  @Test
  void havePlans() throws Exception {
    String plan =
        tables.explainTableQueryPlan(
            table, new ExplainTableQueryPlanRequest().query(near(1, 3)), DELIMITER);
    assertTrue(plan.contains("KNN"), plan);
    AnalyzeTableQueryPlanRequest analyze =
        new AnalyzeTableQueryPlanRequest().vector(near(1, 3).getVector()).k(3);
    assertTrue(
        tables.analyzeTableQueryPlan(table, analyze, DELIMITER).contains("output_rows"));
  }
}
