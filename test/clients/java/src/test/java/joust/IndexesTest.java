package joust;

import static joust.Remote.DELIMITER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.lance.namespace.client.apache.api.TableApi;
import org.lance.namespace.model.BooleanQuery;
import org.lance.namespace.model.CreateTableIndexRequest;
import org.lance.namespace.model.DescribeTableIndexStatsRequest;
import org.lance.namespace.model.FtsQuery;
import org.lance.namespace.model.IndexContent;
import org.lance.namespace.model.ListTableIndicesRequest;
import org.lance.namespace.model.MatchQuery;
import org.lance.namespace.model.PhraseQuery;
import org.lance.namespace.model.QueryTableRequest;
import org.lance.namespace.model.QueryTableRequestFullTextQuery;
import org.lance.namespace.model.QueryTableRequestVector;
import org.lance.namespace.model.StringFtsQuery;
import org.lance.namespace.model.StructuredFtsQuery;

class IndexesTest {
  private final TableApi tables = Remote.tables();

  @Test
  void areBuiltListedUsedAndDropped() throws Exception {
    String table = Remote.newTable(300);
    tables.createTableScalarIndex(
        table, new CreateTableIndexRequest().column("id").indexType("BTREE"), DELIMITER);
    tables.createTableIndex(
        table,
        new CreateTableIndexRequest().column("vector").indexType("IVF_FLAT").distanceType("l2"),
        DELIMITER);
    tables.createTableIndex(
        table,
        new CreateTableIndexRequest()
            .column("name")
            .indexType("FTS")
            .withPosition(true)
            .removeStopWords(false),
        DELIMITER);
    List<IndexContent> indexes = readyIndexes(table, 3);
    assertEquals(
        List.of("id_idx", "name_idx", "vector_idx"),
        indexes.stream().map(IndexContent::getIndexName).sorted().toList());

    var stats =
        tables.describeTableIndexStats(
            table, "vector_idx", new DescribeTableIndexStatsRequest(), DELIMITER);
    assertEquals(300, stats.getNumIndexedRows());
    assertEquals(0, stats.getNumUnindexedRows());
    StringFtsQuery words = new StringFtsQuery().query("42");
    assertEquals(
        List.of(42L), found(table, new QueryTableRequestFullTextQuery().stringQuery(words)));
    assertEquals(
        List.of(42L),
        found(
            table,
            new QueryTableRequestFullTextQuery()
                .stringQuery(words.columns(List.of("name")))));
    FtsQuery either =
        new FtsQuery()
            ._boolean(
                new BooleanQuery()
                    .addShouldItem(match("42"))
                    .addShouldItem(new FtsQuery().phrase(phrase("item 43")))
                    .addMustNotItem(match("43")));
    assertEquals(
        List.of(42L),
        found(
            table,
            new QueryTableRequestFullTextQuery()
                .structuredQuery(new StructuredFtsQuery().query(either))));

    tables.dropTableIndex(table, "id_idx", DELIMITER);
    Remote.fails(404, 6, () -> tables.dropTableIndex(table, "id_idx", DELIMITER));
    assertEquals(2, readyIndexes(table, 2).size());
  }

  private static FtsQuery match(String terms) {
    return new FtsQuery().match(new MatchQuery().column("name").terms(terms));
  }

  private static PhraseQuery phrase(String terms) {
    return new PhraseQuery().column("name").terms(terms);
  }

  private List<Object> found(String table, QueryTableRequestFullTextQuery text) throws Exception {
    QueryTableRequest request =
        new QueryTableRequest().vector(new QueryTableRequestVector()).fullTextQuery(text).k(5);
    return Items.column(tables.queryTable(table, request, DELIMITER), "id");
  }

  /** Waits by polling the listing. */
  private List<IndexContent> readyIndexes(String table, int count) throws Exception {
    Instant deadline = Instant.now().plus(Duration.ofMinutes(2));
    while (true) {
      List<IndexContent> listed =
          tables.listTableIndices(table, new ListTableIndicesRequest(), DELIMITER).getIndexes();
      boolean ready =
          listed.stream().allMatch(index -> "ready".equalsIgnoreCase(index.getStatus()));
      if (ready && listed.size() == count) return listed;
      assertTrue(Instant.now().isBefore(deadline), () -> "not ready: " + listed);
      Thread.sleep(100);
    }
  }
}
