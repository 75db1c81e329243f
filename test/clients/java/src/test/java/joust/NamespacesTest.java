package joust;

import static joust.Remote.DELIMITER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.lance.namespace.client.apache.api.NamespaceApi;
import org.lance.namespace.model.CreateNamespaceRequest;
import org.lance.namespace.model.DescribeNamespaceRequest;
import org.lance.namespace.model.DropNamespaceRequest;
import org.lance.namespace.model.NamespaceExistsRequest;

class NamespacesTest {
  private final NamespaceApi namespaces = Remote.namespaces();

  @Test
  void areCreatedDescribedListedAndDropped() throws Exception {
    String name = Remote.newName();
    CreateNamespaceRequest create =
        new CreateNamespaceRequest().properties(Map.of("team", "search"));
    assertEquals(
        "search", namespaces.createNamespace(name, create, DELIMITER).getProperties().get("team"));
    Remote.fails(409, 2, () -> namespaces.createNamespace(name, create, DELIMITER));
    CreateNamespaceRequest existOk = new CreateNamespaceRequest().mode("ExistOk");
    namespaces.createNamespace(name, existOk, DELIMITER);
    namespaces.createNamespace(name + "$b", new CreateNamespaceRequest(), "$");
    namespaces.createNamespace(name + ".a", new CreateNamespaceRequest(), ".");

    assertEquals(
        "search",
        namespaces
            .describeNamespace(name, new DescribeNamespaceRequest(), DELIMITER)
            .getProperties()
            .get("team"));
    namespaces.namespaceExists(name + "$a", new NamespaceExistsRequest(), DELIMITER);
    assertTrue(namespaces.listNamespaces("$", DELIMITER, null, null).getNamespaces().contains(name));
    var page = namespaces.listNamespaces(name, DELIMITER, null, 1);
    assertEquals(List.of("a"), List.copyOf(page.getNamespaces()));
    page = namespaces.listNamespaces(name, DELIMITER, page.getPageToken(), 1);
    assertEquals(List.of("b"), List.copyOf(page.getNamespaces()));

    Remote.fails(
        409, 3, () -> namespaces.dropNamespace(name, new DropNamespaceRequest(), DELIMITER));
    namespaces.dropNamespace(name, new DropNamespaceRequest().behavior("Cascade"), DELIMITER);
    Remote.fails(
        404, 1, () -> namespaces.namespaceExists(name, new NamespaceExistsRequest(), DELIMITER));
  }
}
