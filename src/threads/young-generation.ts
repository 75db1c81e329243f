import { setFlagsFromString } from "node:v8";

// V8 starts with a young generation of 1 MiB and doubles it when that many bytes have survived
// collections. Requests create almost only garbage, but the requests in flight fill half of so small a
// space, so V8 collects it twice as often as necessary. With this flag the first growth reaches the full
// size (16 MiB; less on a machine with little memory). V8 reads the flag at each growth, so it need not be
// an option of `node` as `--min-semi-space-size` is. The flag holds for all threads, but a new thread
// resets it: each thread imports this module.
setFlagsFromString("--semi-space-growth-factor=16");
