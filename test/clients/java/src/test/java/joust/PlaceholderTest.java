package joust;

import org.junit.jupiter.api.Test;

class PlaceholderTest {
  @Test
  void loads() throws Exception {
    Class.forName("org.apache.arrow.vector.VectorSchemaRoot");
  }
}
