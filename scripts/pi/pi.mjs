// Gives the other scripts pi's own functions.
import { createHash } from "node:crypto";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { piPackageDir } from "./install.mjs";

/**
 * Imports the modules of pi that the questions need. They are imported by path:
 * the package's index leaves out estimateProjectedContextTokens and prepareCompaction.
 */
export async function loadPi() {
  const core = (name) => import(pathToFileURL(join(piPackageDir(), "dist", "core", name)).href);
  const [session, compaction, messages] = await Promise.all([
    core("session-manager.js"),
    core(join("compaction", "index.js")),
    core("messages.js"),
  ]);
  const { version } = JSON.parse(readFileSync(join(piPackageDir(), "package.json"), "utf8"));
  return { ...session, ...compaction, ...messages, version };
}

/**
 * Opens a copy of a session file with pi's SessionManager and passes it to use.
 * A copy, because pi rewrites old versions in place and mends a missing newline.
 */
export function withSession(pi, file, use) {
  const dir = mkdtempSync(join(tmpdir(), "clew-pi-session-"));
  try {
    const copy = join(dir, basename(file));
    copyFileSync(file, copy);
    return use(pi.SessionManager.open(copy, dir));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The version the header of a file claims, 1 when it claims none. */
export function versionOf(file) {
  for (const line of readFileSync(file, "utf8").split("\n")) {
    try {
      const record = JSON.parse(line);
      if (record !== null) return record.version ?? 1;
    } catch {
      // pi, too, passes over what is not JSON before the header.
    }
  }
  return 1;
}

/**
 * First 16 hex digits of the sha256 of a text in UTF-8. A lone surrogate is
 * hashed as U+FFFD, as every UTF-8 encoder of JavaScript writes it.
 */
export function sha(text) {
  return createHash("sha256").update(text, "utf8").digest("hex").slice(0, 16);
}

/**
 * A message's content as one text: text blocks as they are, others as [type],
 * with U+0001 between them. Content of a wrong kind counts as none.
 */
export function flat(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((block) => (block?.type === "text" ? (block.text ?? "") : `[${block?.type}]`)).join("\u0001");
}
