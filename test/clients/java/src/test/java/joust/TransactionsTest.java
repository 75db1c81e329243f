package joust;

import static joust.Remote.DELIMITER;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.lance.namespace.client.apache.api.TransactionApi;
import org.lance.namespace.model.AlterTransactionAction;
import org.lance.namespace.model.AlterTransactionRequest;
import org.lance.namespace.model.AlterTransactionSetProperty;
import org.lance.namespace.model.BatchCommitTablesRequest;
import org.lance.namespace.model.CommitTableOperation;
import org.lance.namespace.model.DeclareTableRequest;
import org.lance.namespace.model.DeregisterTableRequest;
import org.lance.namespace.model.DescribeTransactionRequest;
import org.lance.namespace.model.TableExistsRequest;

class TransactionsTest {
  private final TransactionApi transactions = Remote.transactions();

  @Test
  void recordChanges() throws Exception {
    String table = Remote.newTable(3);
    String id =
        Remote.tables()
            .insertIntoTable(table, Items.stream(3, 1), DELIMITER, "append")
            .getTransactionId();
    DescribeTransactionRequest describe = new DescribeTransactionRequest();
    assertEquals(
        "Succeeded", transactions.describeTransaction(id, describe, DELIMITER).getStatus());
    AlterTransactionRequest alter =
        new AlterTransactionRequest()
            .addActionsItem(
                new AlterTransactionAction()
                    .setPropertyAction(
                        new AlterTransactionSetProperty().key("team").value("x").mode("Fail")));
    transactions.alterTransaction(id, alter, DELIMITER);
    assertEquals(
        "x",
        transactions.describeTransaction(id, describe, DELIMITER).getProperties().get("team"));
    Remote.fails(400, 13, () -> transactions.alterTransaction(id, alter, DELIMITER));
    Remote.fails(
        404, 10, () -> transactions.describeTransaction("nobody", describe, DELIMITER));
  }

  @Test
  void commitSeveralTablesAtOnce() throws Exception {
    String table = Remote.newTable(3);
    String made = Remote.newName();
    BatchCommitTablesRequest request =
        new BatchCommitTablesRequest()
            .addOperationsItem(
                new CommitTableOperation().declareTable(new DeclareTableRequest().addIdItem(made)))
            .addOperationsItem(
                new CommitTableOperation()
                    .deregisterTable(new DeregisterTableRequest().addIdItem(table)));
    var results = transactions.batchCommitTables(request, DELIMITER).getResults();
    assertEquals(2, results.size());
    assertEquals(table, results.get(1).getDeregisterTable().getId().get(0));
    Remote.fails(
        404,
        4,
        () -> Remote.tables().tableExists(table, new TableExistsRequest(), DELIMITER));
  }
}
