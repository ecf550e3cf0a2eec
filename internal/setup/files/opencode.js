// clew adds to a compaction what it must keep. "clew setup opencode --undo" removes this file.
const clew = "CLEW";

export const Clew = async ({ client, $ }) => ({
	"experimental.session.compacting": async (input, output) => {
		try {
			const { data } = await client.session.messages({ path: { id: input.sessionID } });
			const text = await $`${clew} summarize - < ${new Response(JSON.stringify(data))}`.quiet().text();
			if (text.trim()) output.context.push("Facts from the log of this session, to be kept word for word:\n\n" + text);
		} catch {
			// The compaction goes on without it.
		}
	},
});
