package joust;

import static joust.Remote.DELIMITER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.lance.namespace.client.apache.api.NamespaceApi;
import org.lance.namespace.client.apache.api.TableApi;
import org.lance.namespace.model.CountTableRowsRequest;
import org.lance.namespace.model.CreateNamespaceRequest;
import org.lance.namespace.model.DeclareTableRequest;
import org.lance.namespace.model.DeregisterTableRequest;
import org.lance.namespace.model.DescribeTableRequest;
import org.lance.namespace.model.JsonArrowField;
import org.lance.namespace.model.RegisterTableRequest;
import org.lance.namespace.model.RenameTableRequest;
import org.lance.namespace.model.TableExistsRequest;

class TablesTest {
  private final TableApi tables = Remote.tables();

  @Test
  void areCreatedDescribedRenamedAndDropped() throws Exception {
    String namespace = Remote.newName();
    NamespaceApi namespaces = Remote.namespaces();
    namespaces.createNamespace(namespace, new CreateNamespaceRequest(), DELIMITER);
    String id = namespace + "$one";
    var made =
        tables.createTable(id, Items.stream(0, 5), DELIMITER, "create", "{\"owner\":\"ann\"}", null);
    assertEquals(1, made.getVersion());
    assertEquals("ann", made.getProperties().get("owner"));
    Remote.fails(
        409,
        5,
        () -> tables.createTable(id, Items.stream(0, 5), DELIMITER, "create", null, null));
    assertEquals(
        2,
        tables
            .createTable(id, Items.stream(0, 3), DELIMITER, "overwrite", null, null)
            .getVersion());

    var described =
        tables.describeTable(id, new DescribeTableRequest(), DELIMITER, null, null, null);
    assertEquals(
        List.of("id", "name", "price", "vector"),
        described.getSchema().getFields().stream().map(JsonArrowField::getName).toList());
    assertEquals(made.getLocation(), described.getLocation());
    assertEquals(2, described.getVersion());
    assertEquals(
        List.of("one"),
        List.copyOf(namespaces.listTables(namespace, DELIMITER, null, null, null).getTables()));
    assertTrue(tables.listAllTables(DELIMITER, null, 1000, null).getTables().contains(id));

    tables.renameTable(id, new RenameTableRequest().newTableName("two"), DELIMITER);
    tables.tableExists(namespace + "$two", new TableExistsRequest(), DELIMITER);
    tables.dropTable(namespace + "$two", DELIMITER);
    Remote.fails(
        404, 4, () -> tables.tableExists(namespace + "$two", new TableExistsRequest(), DELIMITER));
  }

  @Test
  void areRegisteredAndDeclared() throws Exception {
    String name = Remote.newTable(4);
    String location =
        tables.deregisterTable(name, new DeregisterTableRequest(), DELIMITER).getLocation();
    String back = Remote.newName();
    tables.registerTable(back, new RegisterTableRequest().location(location), DELIMITER);
    assertEquals(4, tables.countTableRows(back, new CountTableRowsRequest(), DELIMITER));

    String later = Remote.newName();
    DeclareTableRequest declare = new DeclareTableRequest().properties(Map.of("a", "b"));
    assertFalse(tables.declareTable(later, declare, DELIMITER).getLocation().isEmpty());
    assertTrue(
        tables
            .describeTable(later, new DescribeTableRequest(), DELIMITER, null, null, true)
            .getIsOnlyDeclared());
    tables.insertIntoTable(later, Items.stream(0, 2), DELIMITER, "append");
    assertEquals(2, tables.countTableRows(later, new CountTableRowsRequest(), DELIMITER));
  }

  @Test
  void requireAKey() throws Exception {
    TableApi stranger = new TableApi(Remote.client("joust_wrong"));
    Remote.fails(401, 16, () -> stranger.listAllTables(DELIMITER, null, null, null));
  }
}
