"""`fill-column.py FOLDER`: fills columns of Lance tables with `embed` of embed.py, as a script of a user does.

Reads commands as lines of JSON from stdin, {"table", "column"}, and writes one line of JSON for each: the number of
rows with a value.
"""

import json
import sys
from pathlib import Path

import lance
import pyarrow as pa
from embed import embed

[folder] = sys.argv[1:]
VECTORS = pa.list_(pa.float32(), 64)

for line in sys.stdin:
    command = json.loads(line)
    column = command["column"]
    dataset = lance.dataset(str(Path(folder, f"{command['table']}.lance")))

    @lance.batch_udf(output_schema=pa.schema([pa.field(column, VECTORS)]))
    def fill(batch: pa.RecordBatch) -> pa.RecordBatch:
        vectors = embed(batch["text"])
        values = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), type=VECTORS)
        return pa.RecordBatch.from_arrays([values], [column])

    dataset.add_columns(fill, read_columns=["text"])
    print(json.dumps({"rows": dataset.count_rows()}), flush=True)
