package joust;

import static joust.Remote.DELIMITER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import org.junit.jupiter.api.Test;
import org.lance.namespace.client.apache.api.MaterializedViewApi;
import org.lance.namespace.client.apache.api.TableApi;
import org.lance.namespace.model.AlterTableBackfillColumnsRequest;
import org.lance.namespace.model.CountTableRowsRequest;
import org.lance.namespace.model.CreateMaterializedViewRequest;
import org.lance.namespace.model.RefreshMaterializedViewRequest;

class ViewsTest {
  private final TableApi tables = Remote.tables();
  private final MaterializedViewApi views = Remote.views();

  @Test
  void areCreatedAndRefreshed() throws Exception {
    String table = Remote.newTable(10);
    String view = Remote.newName();
    CreateMaterializedViewRequest create =
        new CreateMaterializedViewRequest()
            .kind(CreateMaterializedViewRequest.KindEnum.QUERY)
            .sourceQuery("SELECT * FROM " + table + " WHERE id < 4")
            .outputSchema(Base64.getEncoder().encodeToString(Items.stream(0, 0)));
    assertEquals(1, views.createMaterializedView(view, create, DELIMITER).getVersion());
    assertEquals(0, count(view));
    Remote.fails(409, 5, () -> views.createMaterializedView(view, create, DELIMITER));
    RefreshMaterializedViewRequest refresh = new RefreshMaterializedViewRequest();
    assertFalse(views.refreshMaterializedView(view, DELIMITER, refresh).getJobId().isEmpty());
    Instant deadline = Instant.now().plus(Duration.ofMinutes(1));
    while (count(view) != 4) {
      assertTrue(Instant.now().isBefore(deadline), "the view is not refreshed");
      Thread.sleep(50);
    }
  }

  @Test
  void onlyComputedColumnsAreBackfilled() throws Exception {
    String table = Remote.newTable(3);
    AlterTableBackfillColumnsRequest backfill =
        new AlterTableBackfillColumnsRequest().column("price");
    Remote.fails(
        400, 13, () -> tables.alterTableBackfillColumns(table, backfill, DELIMITER));
    backfill.column("nope");
    Remote.fails(
        404, 12, () -> tables.alterTableBackfillColumns(table, backfill, DELIMITER));
  }

  private long count(String view) throws Exception {
    return tables.countTableRows(view, new CountTableRowsRequest(), DELIMITER);
  }
}
