// Measures what pi pays to load a session and build its context, as a whole
// process: user and system CPU time, best of five, less that of `node -e 0`. Needs bash, whose `time` reads the child's usage.
//
//   cost.mjs FILE.jsonl...
//
// Twice for each file: with pi's whole package imported, and with nothing but the
// module that holds its session manager. Every run gets a fresh copy of the file,
// because pi migrates an old version when it opens it; the copying is not counted.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { piPackageDir } from "./install.mjs";

const runs = 5;

const files = process.argv.slice(2);
if (files.length === 0) {
  console.error("usage: cost.mjs FILE.jsonl...");
  process.exit(2);
}

/** CPU seconds, user and system, of a Node program given as text. */
function cpu(program) {
  const run = spawnSync("bash", ["-c", 'TIMEFORMAT="%3U %3S"; time "$@"', "cost", process.execPath, "-e", program], {
    encoding: "utf8",
  });
  const times = run.stderr.trim().split("\n").at(-1).match(/^(\d+[.,]\d+) (\d+[.,]\d+)$/);
  if (run.status !== 0 || !times) throw new Error(`cannot measure: ${run.stderr}`);
  const seconds = (text) => Number(text.replace(",", "."));
  return { seconds: seconds(times[1]) + seconds(times[2]), output: run.stdout.trim() };
}

function best(measure) {
  let result;
  for (let i = 0; i < runs; i++) {
    const one = measure();
    if (!result || one.seconds < result.seconds) result = one;
  }
  return result;
}

const ms = (seconds) => `${(1000 * seconds).toFixed(0)} ms`;

const empty = best(() => cpu("0")).seconds;
console.log(`Node ${process.version}, CPU user+sys, best of ${runs}`);
console.log(`node -e 0: ${ms(empty)}`);

const dir = mkdtempSync(join(tmpdir(), "clew-pi-cost-"));
try {
  for (const file of files) {
    for (const [what, module] of [
      ["whole package", "index.js"],
      ["session manager alone", join("core", "session-manager.js")],
    ]) {
      const url = pathToFileURL(join(piPackageDir(), "dist", module)).href;
      const copy = join(dir, basename(file));
      const load = best(() => cpu(`import(${JSON.stringify(url)})`)).seconds;
      const { seconds, output } = best(() => {
        copyFileSync(file, copy);
        return cpu(`
          import(${JSON.stringify(url)}).then(({ SessionManager }) => {
            const { messages } = SessionManager.open(${JSON.stringify(copy)}, ${JSON.stringify(dir)}).buildSessionContext();
            console.log(messages.length);
          });
        `);
      });
      console.log(
        `${basename(file)}, ${what}: ${ms(seconds - empty)} net (${ms(seconds)} in all; import alone ${ms(load - empty)} net), ${output} messages in context`,
      );
    }
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
