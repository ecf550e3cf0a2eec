// Draws the live part of a page anew every few seconds while somebody looks at it.
"use strict";
const live = document.querySelector("main[data-live]");
async function refresh() {
  if (document.hidden || live.contains(document.activeElement) || getSelection().toString() !== "") return;
  const answer = await fetch(location.href).catch(() => null);
  if (!answer || !answer.ok) return;
  const next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
  if (!next || next.innerHTML === live.innerHTML) return;
  const open = [...live.querySelectorAll("details")].map((d) => d.open);
  live.replaceChildren(...next.childNodes);
  live.querySelectorAll("details").forEach((d, i) => { if (i < open.length) d.open = open[i]; });
}
if (live) setInterval(refresh, 3000);
