package joust;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.ipc.ArrowFileReader;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.arrow.vector.util.ByteArrayReadableSeekableByteChannel;
import org.apache.arrow.vector.util.Text;

/** Rows of id, name ({@code item <id>}), price (id / 2) and a vector that is its own nearest neighbor. */
final class Items {
  static final int DIMENSION = 8;

  private static final ArrowType FLOAT =
      new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE);
  private static final Schema SCHEMA =
      new Schema(
          List.of(
              Field.nullable("id", new ArrowType.Int(64, true)),
              Field.nullable("name", new ArrowType.Utf8()),
              Field.nullable(
                  "price", new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE)),
              new Field(
                  "vector",
                  FieldType.nullable(new ArrowType.FixedSizeList(DIMENSION)),
                  List.of(Field.nullable("item", FLOAT)))));

  private Items() {}

  static List<Float> vectorOf(long id) {
    List<Float> vector = new ArrayList<>();
    for (int d = 0; d < DIMENSION; d++) vector.add((float) Math.sin(id * (d + 1)));
    return vector;
  }

  /** Rows {@code from} to {@code from + count} as an Arrow IPC stream. */
  static byte[] stream(int from, int count) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (BufferAllocator allocator = new RootAllocator();
        VectorSchemaRoot root = VectorSchemaRoot.create(SCHEMA, allocator);
        ArrowStreamWriter writer =
            new ArrowStreamWriter(root, null, Channels.newChannel(bytes))) {
      fill(root, from, count);
      writer.start();
      writer.writeBatch();
      writer.end();
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
    return bytes.toByteArray();
  }

  private static void fill(VectorSchemaRoot root, int from, int count) {
    BigIntVector ids = (BigIntVector) root.getVector("id");
    VarCharVector names = (VarCharVector) root.getVector("name");
    Float8Vector prices = (Float8Vector) root.getVector("price");
    FixedSizeListVector vectors = (FixedSizeListVector) root.getVector("vector");
    Float4Vector numbers = (Float4Vector) vectors.getDataVector();
    for (int row = 0; row < count; row++) {
      int id = from + row;
      ids.setSafe(row, id);
      names.setSafe(row, new Text("item " + id));
      prices.setSafe(row, id / 2.0);
      vectors.setNotNull(row);
      for (int d = 0; d < DIMENSION; d++) {
        numbers.setSafe(row * DIMENSION + d, vectorOf(id).get(d));
      }
    }
    root.setRowCount(count);
  }

  /** One column of a response that is an Arrow IPC file. */
  static List<Object> column(byte[] file, String name) throws IOException {
    List<Object> values = new ArrayList<>();
    try (BufferAllocator allocator = new RootAllocator();
        ArrowFileReader reader =
            new ArrowFileReader(new ByteArrayReadableSeekableByteChannel(file), allocator)) {
      while (reader.loadNextBatch()) {
        FieldVector vector = reader.getVectorSchemaRoot().getVector(name);
        for (int row = 0; row < vector.getValueCount(); row++) values.add(vector.getObject(row));
      }
    }
    return values;
  }
}
