// Prints as JSON, one line a file, what pi makes of session files at their leaf.
//
//   open.mjs FILE...
//
// Each file is opened as a copy, in a process of its own with a bound on memory
// and time, because pi follows a parent cycle until its memory is used up.
// The exit status is 1 when pi refuses one of the files.
import { spawnSync } from "node:child_process";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { flat, loadPi, sha, versionOf, withSession } from "./pi.mjs";

const memory = 1024; // MiB
const patience = 120_000; // milliseconds

const args = process.argv.slice(2);
if (args.length === 0) {
  console.error("usage: open.mjs FILE...");
  process.exit(2);
}
if (args[0] === "--inner") {
  const pi = await loadPi();
  console.log(JSON.stringify(open(pi, args[1])));
} else {
  for (const file of args) {
    const run = spawnSync(process.execPath, [`--max-old-space-size=${memory}`, fileURLToPath(import.meta.url), "--inner", file], {
      encoding: "utf8",
      timeout: patience,
      maxBuffer: 1 << 28,
    });
    if (run.status === 0) {
      process.stdout.write(run.stdout);
      if (JSON.parse(run.stdout).error) process.exitCode = 1;
      continue;
    }
    const ended = run.error?.code === "ETIMEDOUT" ? `no answer within ${patience / 1000} s` : `pi's process ended with ${run.signal ?? run.status}`;
    const why = /out of memory|Invalid array length/.test(run.stderr) ? `${ended}: out of memory (${memory} MiB)` : ended;
    console.log(JSON.stringify({ file: basename(file), error: why }));
    process.exitCode = 1;
  }
}

function open(pi, file) {
  const answer = { file: basename(file), pi: pi.version };
  try {
    return withSession(pi, file, (session) => {
      const entries = session.getEntries();
      const position = new Map(entries.map((entry, i) => [entry.id, i]));
      // The ids that pi gives to version 1 entries are random; positions are not.
      const old = versionOf(file) < 2;
      const name = (id) => (id === undefined || id === null ? null : old ? `@${position.get(id)}` : id);
      const projection = session.buildSessionProjection();
      return {
        ...answer,
        session: session.getSessionId(),
        entries: entries.length,
        leaf: name(session.getLeafId()),
        contextEntries: session.buildContextEntries().map((entry) => name(entry.id)),
        model: projection.model,
        thinkingLevel: projection.thinkingLevel,
        roles: projection.messages.map((message) => message.role),
        llm: pi.convertToLlm(projection.messages).map((message) => [message.role, sha(flat(message.content))]),
      };
    });
  } catch (error) {
    // The copy's folder is of no interest to the reader.
    const message = String(error?.message ?? error);
    const path = message.match(/(\/|[A-Za-z]:\\)\S*clew-pi-session-\S*/);
    return { ...answer, error: path ? message.replace(dirname(path[0]), ".") : message };
  }
}
