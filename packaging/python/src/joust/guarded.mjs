// Runs joust until standard input ends. The parent process has the other end of this pipe, and the system closes it when
// the parent ends for any reason. So the server never outlives its parent.
let ended = false;
for (const event of ["end", "close", "error"]) process.stdin.on(event, end);
process.stdin.resume();
// A server that fails to start must exit although its input is open.
process.stdin.unref();

await import("./_app/dist/cli/main.js");

function end() {
  // A second signal would stop the server immediately.
  if (!ended) process.kill(process.pid, "SIGTERM");
  ended = true;
}
