#!/usr/bin/env node
// Runs the clew of this platform, which npm has installed as an optional
// dependency: a package that holds nothing but the program.
"use strict";
const { spawn } = require("node:child_process");

const name = `@clew-dev/clew-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/clew${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(
    `clew: the package ${name} is not installed. npm leaves it out with --omit=optional, and there is ` +
      `none for every platform; install again without that, or build clew with Go: https://github.com/clew-dev/clew`,
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// What a terminal sends goes to both; what is sent to this process alone is passed on.
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
process.on("SIGINT", () => {});
child.on("error", (err) => {
  console.error(`clew: ${program} did not start: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
