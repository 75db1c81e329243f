import { setFlagsFromString } from "node:v8";

// Requests leave garbage and hardly anything else. V8 doubles the space for new objects while they come
// fast, to collect it seldom; then each collection is long, on several threads, and what is asked
// meanwhile waits. V8 reads this whenever the space would grow, so that it need not be an option of `node`
// as `--max-semi-space-size` is. It holds for all threads, and a new one sets it back: each imports this.
setFlagsFromString("--semi-space-growth-factor=1");
