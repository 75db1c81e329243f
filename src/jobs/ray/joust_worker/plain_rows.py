"""Rows without views of texts and bytes, which few functions of pyarrow take."""

import pyarrow


def plain(batch):
    columns = []
    for column in batch.columns:
        kind = plain_type(column.type)
        columns.append(column if kind == column.type else column.cast(kind))
    return pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


def plain_type(kind):
    types = pyarrow.types
    if types.is_string_view(kind):
        return pyarrow.string()
    if types.is_binary_view(kind):
        return pyarrow.binary()
    if types.is_list(kind):
        return pyarrow.list_(plain_field(kind.value_field))
    if types.is_large_list(kind):
        return pyarrow.large_list(plain_field(kind.value_field))
    if types.is_fixed_size_list(kind):
        return pyarrow.list_(plain_field(kind.value_field), kind.list_size)
    if types.is_struct(kind):
        return pyarrow.struct([plain_field(kind.field(at)) for at in range(kind.num_fields)])
    return kind


def plain_field(field):
    return field.with_type(plain_type(field.type))
