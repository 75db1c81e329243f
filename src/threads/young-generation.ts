import { setFlagsFromString } from "node:v8";

// V8 starts with a megabyte for new objects and doubles it whenever as much as it holds has outlived
// collections. Requests leave garbage and hardly anything else, but those in flight fill half of so small a
// space, which is then collected twice as often as it must. So the first growth takes it to its full size
// (16 MiB; less on a machine with little memory). V8 reads this whenever the space would grow, so that it
// need not be an option of `node` as `--min-semi-space-size` is. It holds for all threads, and a new one sets
// it back: each imports this.
setFlagsFromString("--semi-space-growth-factor=16");
