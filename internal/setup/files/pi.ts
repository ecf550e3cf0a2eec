// clew writes the summary of a compaction. "clew setup pi --undo" removes this file.
const clew = "CLEW";

export default function (pi: any) {
	pi.on("session_before_compact", async (event: any, ctx: any) => {
		const file = ctx.sessionManager.getSessionFile();
		const { firstKeptEntryId, tokensBefore } = event.preparation;
		const kept = event.branchEntries.findIndex((e: any) => e.id === firstKeptEntryId);
		if (!file || kept < 1) return;
		const last = event.branchEntries[kept - 1].id;
		const { stdout, code } = await pi.exec(clew, ["summarize", file, "--until", last], { signal: event.signal });
		if (code !== 0 || !stdout.trim()) return; // pi makes its own
		return { compaction: { summary: stdout, firstKeptEntryId, tokensBefore } };
	});
}
