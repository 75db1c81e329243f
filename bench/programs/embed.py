"""A function of moderate cost: counts the words of a text in 64 places of a vector."""

import zlib

import numpy as np
import pyarrow as pa


def embed(text: pa.Array) -> np.ndarray:
    vectors = np.zeros((len(text), 64), np.float32)
    for row, words in enumerate(text.to_pylist()):
        for word in words.split():
            vectors[row, zlib.crc32(word.encode()) % 64] += 1
    return vectors
