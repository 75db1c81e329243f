import { setFlagsFromString } from "node:v8";

// Requests leave garbage and hardly anything else. V8 starts with a megabyte of space for new objects and
// doubles it while more of them outlive a collection than it has room for. Many requests in flight fill half of a
// small one, which is then collected twice as often as it must; and each growth is a pause. So it grows to its
// full 16 MiB at once. V8 reads this whenever the space would grow, so that it need not be an option of `node`
// as `--min-semi-space-size` is. It holds for all threads, and a new one sets it back: each imports this.
setFlagsFromString("--semi-space-growth-factor=16");
