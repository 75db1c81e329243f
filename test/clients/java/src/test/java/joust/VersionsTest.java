package joust;

import static joust.Remote.DELIMITER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.lance.namespace.client.apache.api.TableApi;
import org.lance.namespace.model.BatchDeleteTableVersionsRequest;
import org.lance.namespace.model.CountTableRowsRequest;
import org.lance.namespace.model.CreateTableTagRequest;
import org.lance.namespace.model.CreateTableVersionRequest;
import org.lance.namespace.model.DeleteTableTagRequest;
import org.lance.namespace.model.DescribeTableVersionRequest;
import org.lance.namespace.model.GetTableTagVersionRequest;
import org.lance.namespace.model.RestoreTableRequest;
import org.lance.namespace.model.TableVersion;
import org.lance.namespace.model.UpdateTableTagRequest;
import org.lance.namespace.model.VersionRange;

class VersionsTest {
  private final TableApi tables = Remote.tables();
  private String table;

  /** Ten rows in version 1, 15 in version 2. */
  @BeforeEach
  void create() throws Exception {
    table = Remote.newTable(10);
    tables.insertIntoTable(table, Items.stream(10, 5), DELIMITER, "append");
  }

  private long count(Long version) throws Exception {
    return tables.countTableRows(table, new CountTableRowsRequest().version(version), DELIMITER);
  }

  @Test
  void areListedDescribedReadAndRestored() throws Exception {
    List<TableVersion> listed =
        tables.listTableVersions(table, DELIMITER, null, null, true).getVersions();
    assertEquals(List.of(2L, 1L), listed.stream().map(TableVersion::getVersion).toList());
    TableVersion first =
        tables
            .describeTableVersion(table, new DescribeTableVersionRequest().version(1L), DELIMITER)
            .getVersion();
    assertEquals(listed.get(1).getManifestPath(), first.getManifestPath());
    assertTrue(first.getTimestampMillis() > 0);
    assertEquals(10, count(1L));
    Remote.fails(404, 11, () -> count(99L));

    CreateTableVersionRequest again =
        new CreateTableVersionRequest().version(1L).manifestPath(first.getManifestPath());
    assertEquals(1, tables.createTableVersion(table, again, DELIMITER).getVersion().getVersion());

    tables.restoreTable(table, new RestoreTableRequest().version(1L), DELIMITER);
    assertEquals(10, count(null));
    BatchDeleteTableVersionsRequest delete =
        new BatchDeleteTableVersionsRequest()
            .addRangesItem(new VersionRange().startVersion(1L).endVersion(2L));
    assertEquals(
        1, tables.batchDeleteTableVersions(table, delete, DELIMITER).getDeletedCount());
  }

  @Test
  void haveTags() throws Exception {
    CreateTableTagRequest create = new CreateTableTagRequest().tag("first").version(1L);
    tables.createTableTag(table, create, DELIMITER);
    Remote.fails(409, 9, () -> tables.createTableTag(table, create, DELIMITER));
    var listed = tables.listTableTags(table, DELIMITER, null, null).getTags();
    assertEquals(Set.of("first"), listed.keySet());
    assertEquals(1, listed.get("first").getVersion());
    tables.updateTableTag(table, new UpdateTableTagRequest().tag("first").version(2L), DELIMITER);
    GetTableTagVersionRequest get = new GetTableTagVersionRequest().tag("first");
    assertEquals(2, tables.getTableTagVersion(table, get, DELIMITER).getVersion());
    tables.deleteTableTag(table, new DeleteTableTagRequest().tag("first"), DELIMITER);
    Remote.fails(404, 8, () -> tables.getTableTagVersion(table, get, DELIMITER));
  }
}
