// Runs joust until standard input ends. The process that started it holds the other end of that pipe, which
// the system closes however that process ends: the server never outlives it.
let ended = false;
for (const event of ["end", "close", "error"]) process.stdin.on(event, end);
process.stdin.resume();
// A server that fails to start must end although its input is open.
process.stdin.unref();

await import("./_app/dist/cli/main.js");

function end() {
  // A second signal would end the server at once.
  if (!ended) process.kill(process.pid, "SIGTERM");
  ended = true;
}
