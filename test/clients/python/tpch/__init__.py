"""TPC-H on joust, compared with DuckDB: `python -m tpch SCALE`."""
