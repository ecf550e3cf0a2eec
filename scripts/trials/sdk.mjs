// A program that talks to a model by one of the vendors' SDKs for Node, and sends all that was
// said each time:
//
//   node sdk.mjs anthropic|chat|responses|gemini PROMPT
//
// It runs what the model calls by the tool "run", answers each closing text with another
// request, and ends when the model says "Done." Every other request is a stream.
import { execSync } from "node:child_process";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";

const [kind, prompt] = process.argv.slice(2);
const system = "You are an agent. Use the tools that you have, one step at a time.";
const schema = { type: "object", properties: { command: { type: "string" }, description: { type: "string" } }, required: ["command"] };
const about = "Runs a command and returns what it prints.";

// Each talks in one API: user adds a request, ask returns { calls, text, usage }, result adds a result.
const talkers = {
  anthropic() {
    const client = new Anthropic({ maxRetries: 0 });
    const messages = [];
    return {
      user: (text) => messages.push({ role: "user", content: [{ type: "text", text }] }),
      result: (call, text) => messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: text }] }),
      async ask(stream) {
        const last = messages.at(-1); // the mark moves on with each request, as programs do it
        const marked = { ...last, content: last.content.with(-1, { ...last.content.at(-1), cache_control: { type: "ephemeral" } }) };
        const request = {
          model: "claude-sonnet-4-5", max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 1024 },
          system: [{ type: "text", text: system, cache_control: { type: "ephemeral" } }],
          tools: [{ name: "run", description: about, input_schema: schema }], messages: messages.with(-1, marked),
        };
        const answer = stream ? await client.messages.stream(request).finalMessage() : await client.messages.create(request);
        messages.push({ role: "assistant", content: answer.content });
        const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = answer.usage;
        return {
          usage: [input_tokens + cache_read_input_tokens + cache_creation_input_tokens, cache_read_input_tokens, output_tokens],
          calls: answer.content.filter((b) => b.type === "tool_use").map((b) => ({ id: b.id, ...b.input })),
          text: answer.content.filter((b) => b.type === "text").map((b) => b.text).join(""),
        };
      },
    };
  },
  chat() {
    const client = new OpenAI({ maxRetries: 0 });
    const messages = [{ role: "system", content: system }];
    return {
      user: (content) => messages.push({ role: "user", content }),
      result: (call, content) => messages.push({ role: "tool", tool_call_id: call.id, content }),
      async ask(stream) {
        const request = { model: "gpt-4.1", messages, ...(stream && { stream_options: { include_usage: true } }), tools: [{ type: "function", function: { name: "run", description: about, parameters: schema } }] };
        const answer = stream ? await client.chat.completions.stream(request).finalChatCompletion() : await client.chat.completions.create(request);
        const { message } = answer.choices[0];
        messages.push(message);
        return {
          usage: [answer.usage.prompt_tokens, answer.usage.prompt_tokens_details.cached_tokens, answer.usage.completion_tokens],
          calls: (message.tool_calls ?? []).map((c) => ({ id: c.id, ...JSON.parse(c.function.arguments) })),
          text: message.content ?? "",
        };
      },
    };
  },
  responses() {
    const client = new OpenAI({ maxRetries: 0 });
    const input = [];
    return {
      user: (content) => input.push({ role: "user", content }),
      result: (call, output) => input.push({ type: "function_call_output", call_id: call.id, output }),
      async ask(stream) {
        const request = {
          model: "gpt-5", store: false, include: ["reasoning.encrypted_content"], instructions: system, input,
          tools: [{ type: "function", name: "run", description: about, parameters: schema, strict: false }],
        };
        const answer = stream ? await client.responses.stream(request).finalResponse() : await client.responses.create(request);
        input.push(...answer.output);
        return {
          usage: [answer.usage.input_tokens, answer.usage.input_tokens_details.cached_tokens, answer.usage.output_tokens],
          calls: answer.output.filter((o) => o.type === "function_call").map((o) => ({ id: o.call_id, ...JSON.parse(o.arguments) })),
          text: answer.output.filter((o) => o.type === "message").flatMap((o) => o.content).map((c) => c.text).join(""),
        };
      },
    };
  },
  gemini() {
    const client = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY });
    const contents = [];
    return {
      user: (text) => contents.push({ role: "user", parts: [{ text }] }),
      result: (call, output) => contents.push({ role: "user", parts: [{ functionResponse: { id: call.id, name: "run", response: { output } } }] }),
      async ask(stream) {
        const request = {
          model: "gemini-2.5-pro", contents,
          config: { systemInstruction: system, tools: [{ functionDeclarations: [{ name: "run", description: about, parametersJsonSchema: schema }] }] },
        };
        const answers = stream ? await client.models.generateContentStream(request) : [await client.models.generateContent(request)];
        const parts = [];
        let usage;
        for await (const answer of answers) {
          parts.push(...(answer.candidates?.[0]?.content?.parts ?? []));
          usage = answer.usageMetadata;
        }
        const whole = []; // a stream has a text in pieces, the last with its signature
        for (const part of parts) {
          const last = whole.at(-1);
          const goes = last && !last.functionCall && !part.functionCall && !last.thought === !part.thought;
          if (goes) whole[whole.length - 1] = { ...last, ...part, text: (last.text ?? "") + (part.text ?? "") };
          else whole.push(part);
        }
        contents.push({ role: "model", parts: whole });
        return {
          usage: [usage.promptTokenCount, usage.cachedContentTokenCount ?? 0, usage.candidatesTokenCount + (usage.thoughtsTokenCount ?? 0)],
          calls: parts.filter((p) => p.functionCall).map((p) => ({ id: p.functionCall.id, ...p.functionCall.args })),
          text: parts.filter((p) => !p.thought).map((p) => p.text ?? "").join(""),
        };
      },
    };
  },
};

const talker = talkers[kind]();
talker.user(prompt);
for (let n = 0, turns = 1; ; n++) {
  const { calls, text, usage } = await talker.ask(n % 2 === 0);
  console.log(`usage: ${usage[0]} (${usage[1]} from the cache) → ${usage[2]}`);
  for (const call of calls) talker.result(call, execSync(call.command, { encoding: "utf8" }));
  if (calls.length > 0) continue;
  console.log(text);
  if (text.includes("Done.")) break;
  talker.user(`Step ${++turns}: count on, and never touch the folder vendor.`);
}
