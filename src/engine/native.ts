type Native = typeof import("../../native/index.js");

/** The compiled engine. Importing this fails with one sentence when there is no binary for this host. */
export const native: Native = await load();

async function load(): Promise<Native> {
  try {
    return await import("../../native/index.js");
  } catch (cause) {
    throw new Error(
      `the engine has no binary for ${process.platform}-${process.arch}: build it with \`npm run build\``,
      { cause },
    );
  }
}
