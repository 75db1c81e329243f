package joust;

import static joust.Remote.DELIMITER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.lance.namespace.client.apache.api.TableApi;
import org.lance.namespace.model.AddColumnsEntry;
import org.lance.namespace.model.AlterColumnsEntry;
import org.lance.namespace.model.AlterTableAddColumnsRequest;
import org.lance.namespace.model.AlterTableAlterColumnsRequest;
import org.lance.namespace.model.AlterTableDropColumnsRequest;
import org.lance.namespace.model.DescribeTableRequest;
import org.lance.namespace.model.GetTableStatsRequest;
import org.lance.namespace.model.JsonArrowField;

class MetadataTest {
  private final TableApi tables = Remote.tables();
  private String table;

  @BeforeEach
  void create() throws Exception {
    table = Remote.newTable(10);
  }

  private List<String> columns() throws Exception {
    return tables
        .describeTable(table, new DescribeTableRequest(), DELIMITER, null, null, null)
        .getSchema()
        .getFields()
        .stream()
        .map(JsonArrowField::getName)
        .toList();
  }

  @Test
  void ofColumns() throws Exception {
    var add =
        new AlterTableAddColumnsRequest()
            .addNewColumnsItem(new AddColumnsEntry().name("twice").expression("price * 2"));
    assertEquals(2, tables.alterTableAddColumns(table, add, DELIMITER).getVersion());
    var alter =
        new AlterTableAlterColumnsRequest()
            .addAlterationsItem(new AlterColumnsEntry().path("twice").rename("double"));
    tables.alterTableAlterColumns(table, alter, DELIMITER);
    assertEquals(List.of("id", "name", "price", "vector", "double"), columns());
    var drop = new AlterTableDropColumnsRequest().columns(List.of("double"));
    assertEquals(4, tables.alterTableDropColumns(table, drop, DELIMITER).getVersion());
    assertEquals(List.of("id", "name", "price", "vector"), columns());
    Remote.fails(404, 12, () -> tables.alterTableDropColumns(table, drop, DELIMITER));
  }

  @Test
  void ofTheSchema() throws Exception {
    assertEquals(
        Map.of("owner", "me"),
        tables.updateTableSchemaMetadata(table, Map.of("owner", "me"), DELIMITER));
    var described =
        tables.describeTable(table, new DescribeTableRequest(), DELIMITER, null, null, null);
    assertEquals("me", described.getSchema().getMetadata().get("owner"));
  }

  @Test
  void ofSize() throws Exception {
    var stats = tables.getTableStats(table, new GetTableStatsRequest(), DELIMITER);
    assertEquals(10, stats.getNumRows());
    assertEquals(0, stats.getNumIndices());
    assertEquals(1, stats.getFragmentStats().getNumFragments());
    assertTrue(stats.getTotalBytes() > 0);
  }
}
