// Writes what pi makes of session files, as NAME.golden.json.
//
//   answers.mjs [--out DIR] FILE.jsonl...
//   answers.mjs --check DIR FILE.jsonl...
//
// With --check nothing is written: the questions (leaves, branch targets, tail
// budgets) are taken from DIR/NAME.golden.json, and the answers compared with it.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { flat, loadPi, sha, versionOf, withSession } from "./pi.mjs";

const keeps = [0, 300, 1000, 5000, 20000]; // tail budgets in tokens
const branchBudget = 5000; // tokens of input for a branch summary, where it is limited
const extraLeaves = 3; // entries that are no leaves, but could become one

const { values: options, positionals: files } = parseArgs({
  allowPositionals: true,
  options: { out: { type: "string" }, check: { type: "string" } },
});
if (files.length === 0) {
  console.error("usage: answers.mjs [--out DIR | --check DIR] FILE.jsonl...");
  process.exit(2);
}

const pi = await loadPi();
let differences = 0;
let leaves = 0;
for (const file of files) {
  const name = basename(file, ".jsonl");
  if (options.check) {
    const want = JSON.parse(readFileSync(join(options.check, `${name}.golden.json`), "utf8"));
    const got = answers(file, want.leaves.map((leaf) => ({ leaf: leaf.leaf, target: leaf.branch.target, keeps: leaf.cuts.map((c) => c.keep) })));
    leaves += got.leaves.length;
    for (const key of ["file", "pi"]) delete want[key], delete got[key];
    for (const difference of compare(want, JSON.parse(JSON.stringify(got)), name)) {
      differences++;
      console.log(difference);
    }
    continue;
  }
  const golden = answers(file);
  leaves += golden.leaves.length;
  const dir = options.out ?? dirname(file);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, `${name}.golden.json`), `${JSON.stringify(golden)}\n`);
}
if (options.check) {
  console.log(`${files.length} files, ${leaves} leaves: ${differences} differences from ${options.check}`);
  process.exitCode = differences > 0 ? 1 : 0;
} else {
  console.log(`${files.length} files, ${leaves} leaves`);
}

/** All answers for one file. Without questions it chooses them itself. */
function answers(file, questions) {
  return withSession(pi, file, (session) => {
    const entries = session.getEntries();
    // pi gives the entries of a version 1 file random ids, so they are named by position.
    const byPosition = versionOf(file) < 2;
    const names = new Map(entries.map((entry, i) => [entry.id, byPosition ? `@${i}` : entry.id]));
    const name = (id) => (id === null || id === undefined ? null : (names.get(id) ?? id));
    const labels = {};
    for (const entry of entries) {
      const label = session.getLabel(entry.id);
      if (label !== undefined) labels[name(entry.id)] = label;
    }
    const ids = new Map([...names].map(([id, n]) => [n, id]));
    const asked = questions
      ? questions.map((q) => ({ ...q, leaf: ids.get(q.leaf), target: ids.get(q.target) }))
      : chooseQuestions(session, entries);
    return {
      file: basename(file),
      pi: pi.version,
      entries: entries.length,
      lastId: name(session.getLeafId()),
      name: session.getSessionName() ?? null,
      labels,
      roots: session.getTree().map((node) => name(node.entry.id)),
      leaves: asked.map((q) => atLeaf(session, name, q)),
    };
  });
}

/**
 * The last entry first, because that is where pi stands; then the other leaves,
 * then some entries inside the tree. Each gets a place to navigate to. The choice
 * depends on nothing but the file.
 */
function chooseQuestions(session, entries) {
  const hasChild = new Set(entries.map((entry) => entry.parentId));
  const last = session.getLeafId();
  const chosen = new Set([last]);
  for (const entry of entries) if (!hasChild.has(entry.id)) chosen.add(entry.id);
  for (let k = 1; k <= extraLeaves; k++) chosen.add(entries[Math.floor((k * entries.length) / (extraLeaves + 1))].id);
  return [...chosen].map((leaf, k) => ({ leaf, target: entries[(k * 7919 + 13) % entries.length].id, keeps }));
}

function atLeaf(session, name, { leaf, target, keeps }) {
  session.branch(leaf);
  const path = session.getBranch(leaf);
  const projection = session.buildSessionProjection();
  return {
    leaf: name(leaf),
    path: path.length,
    contextEntries: session.buildContextEntries().map((entry) => name(entry.id)),
    model: projection.model,
    thinkingLevel: projection.thinkingLevel,
    messages: projection.messages.map((message) => [message.role, pi.estimateTokens(message)]),
    llm: pi.convertToLlm(projection.messages).map((message) => [message.role, sha(flat(message.content))]),
    estimate: pi.estimateContextTokens(projection.messages),
    projected: pi.estimateProjectedContextTokens(projection, path),
    cuts: keeps.map((keep) => cut(path, name, keep)),
    branch: branch(session, name, leaf, target),
  };
}

function cut(path, name, keep) {
  const prep = pi.prepareCompaction(path, { ...pi.DEFAULT_COMPACTION_SETTINGS, keepRecentTokens: keep });
  return {
    keep,
    raw: pi.findCutPoint(path, 0, path.length, keep),
    prep: prep
      ? {
          firstKept: name(prep.firstKeptEntryId),
          split: prep.isSplitTurn,
          tokensBefore: prep.tokensBefore,
          prev: prep.previousSummary === undefined ? null : sha(prep.previousSummary),
          sum: prep.messagesToSummarize.length,
          prefix: prep.turnPrefixMessages.length,
          sumSha: serialized(prep.messagesToSummarize),
          prefixSha: serialized(prep.turnPrefixMessages),
          files: pi.computeFileLists(prep.fileOps),
        }
      : null,
  };
}

function branch(session, name, leaf, target) {
  const { entries, commonAncestorId } = pi.collectEntriesForBranchSummary(session, leaf, target);
  const prepared = (budget) => {
    const { messages, fileOps, totalTokens } = pi.prepareBranchEntries(entries, budget);
    return { n: messages.length, tokens: totalTokens, sha: serialized(messages), files: pi.computeFileLists(fileOps) };
  };
  return {
    target: name(target),
    ancestor: name(commonAncestorId),
    entries: entries.map((entry) => name(entry.id)),
    limited: prepared(branchBudget),
    unlimited: prepared(0),
  };
}

function serialized(messages) {
  return sha(pi.serializeConversation(pi.convertToLlm(messages)));
}

/** Every place where two JSON values differ. */
function* compare(want, got, at) {
  if (want === null || got === null || typeof want !== "object" || typeof got !== "object") {
    if (want !== got) yield `${at}: ${JSON.stringify(want)} there, ${JSON.stringify(got)} here`;
    return;
  }
  for (const key of new Set([...Object.keys(want), ...Object.keys(got)])) {
    yield* compare(want[key], got[key], `${at}.${key}`);
  }
}
