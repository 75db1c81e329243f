package joust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.function.Executable;
import org.lance.namespace.client.apache.ApiClient;
import org.lance.namespace.client.apache.ApiException;
import org.lance.namespace.client.apache.api.MaterializedViewApi;
import org.lance.namespace.client.apache.api.NamespaceApi;
import org.lance.namespace.client.apache.api.TableApi;
import org.lance.namespace.client.apache.api.TransactionApi;

/** The unmodified client, connected to the server that JOUST_URL and JOUST_KEY name. */
final class Remote {
  /** The delimiter of ids: the default of the server. */
  static final String DELIMITER = null;

  private static final AtomicInteger NAMES = new AtomicInteger();

  private Remote() {}

  static ApiClient client(String key) {
    ApiClient client = new ApiClient();
    client.setBasePath(System.getenv("JOUST_URL"));
    client.addDefaultHeader("Authorization", "Bearer " + key);
    return client;
  }

  private static ApiClient client() {
    return client(System.getenv("JOUST_KEY"));
  }

  static NamespaceApi namespaces() {
    return new NamespaceApi(client());
  }

  static TableApi tables() {
    return new TableApi(client());
  }

  static MaterializedViewApi views() {
    return new MaterializedViewApi(client());
  }

  static TransactionApi transactions() {
    return new TransactionApi(client());
  }

  /** An unused name. */
  static String newName() {
    return "java_" + NAMES.incrementAndGet();
  }

  /** Creates a table of {@code count} items; see {@link Items}. */
  static String newTable(int count) throws ApiException {
    String name = newName();
    tables().createTable(name, Items.stream(0, count), DELIMITER, "create", null, null);
    return name;
  }

  /** Expects the call to fail with this HTTP status and this error code. */
  static void fails(int status, int code, Executable call) throws Exception {
    ApiException failure = assertThrows(ApiException.class, call);
    assertEquals(status, failure.getCode(), failure.getResponseBody());
    JsonNode body = new ObjectMapper().readTree(failure.getResponseBody());
    assertEquals(code, body.get("code").asInt());
  }
}
