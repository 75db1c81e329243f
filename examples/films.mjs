/**
 * Writes a small table as an Arrow IPC stream, the input format of joust:
 * `node examples/films.mjs > films.arrows`. The vector rates how funny, dark and loud a film is.
 */
import {
  Field,
  FixedSizeList,
  Float32,
  tableFromArrays,
  tableToIPC,
  vectorFromArray,
} from "apache-arrow";

const films = [
  ["Metropolis", 1927, [0.1, 0.8, 0.4]],
  ["Modern Times", 1936, [0.9, 0.3, 0.3]],
  ["Casablanca", 1942, [0.3, 0.6, 0.2]],
  ["Some Like It Hot", 1959, [1.0, 0.1, 0.4]],
  ["Dr. Strangelove", 1964, [0.8, 0.7, 0.6]],
  ["Alien", 1979, [0.0, 1.0, 0.8]],
  ["Airplane!", 1980, [1.0, 0.1, 0.8]],
  ["Mad Max: Fury Road", 2015, [0.1, 0.8, 1.0]],
];
const column = (at) => films.map((film) => film[at]);

const table = tableFromArrays({
  title: column(0),
  year: Int32Array.from(column(1)),
  vector: vectorFromArray(column(2), new FixedSizeList(3, new Field("item", new Float32()))),
});
process.stdout.write(tableToIPC(table, "stream"));
