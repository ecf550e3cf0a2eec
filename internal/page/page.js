"use strict";
// Shows the path to the entry that the address names. Without it the page shows the
// current path, and the other branches behind it.
(function () {
  var main = document.getElementById("transcript");
  var where = document.getElementById("where");
  var n = Number(main.dataset.n), leaf = Number(main.dataset.leaf);
  var parent = new Int32Array(n), target = new Map();
  for (var i = 0; i < n; i++) parent[i] = i - 1;
  pairs(main.dataset.parents, function (a, b) { parent[a] = b; });
  pairs(main.dataset.edits, function (a, b) { target.set(a, b); });
  var articles = main.querySelectorAll("[data-i]");
  var edits = main.querySelectorAll("[data-e]");
  var rows = document.querySelectorAll("#tree [data-t]");
  var shown = -1, on = null;

  function pairs(text, each) {
    (text.match(/\d+:-?\d+/g) || []).forEach(function (p) {
      var ab = p.split(":");
      each(Number(ab[0]), Number(ab[1]));
    });
  }

  // path lists the entries from tip to the root.
  function path(tip) {
    var seen = new Uint8Array(n), list = [];
    for (var i = tip; i >= 0 && !seen[i]; i = parent[i]) {
      seen[i] = 1;
      list.push(i);
    }
    return { list: list, has: seen };
  }

  // tip is the end of the branch that goes through an entry: the current one, else
  // the newest.
  function tip(at) {
    if (path(leaf).has[at]) return leaf;
    var under = new Uint8Array(n), last = at;
    under[at] = 1;
    for (var i = at + 1; i < n; i++) {
      if (parent[i] >= 0 && under[parent[i]]) {
        under[i] = 1;
        last = i;
      }
    }
    return last;
  }

  function show(to) {
    if (to === shown) return;
    shown = to;
    var p = path(to);
    on = p.has;
    var force = new Map();
    p.list.forEach(function (i) { // from the tip: the first edit of a target counts
      if (target.has(i) && !force.has(target.get(i))) force.set(target.get(i), i);
    });
    var last = null;
    articles.forEach(function (a) {
      a.hidden = !on[a.dataset.i];
      if (!a.hidden && "kept" in a.dataset) last = a;
    });
    var out = new Uint8Array(n);
    if (last) {
      var kept = Number(last.dataset.kept), from = p.list.indexOf(Number(last.dataset.i));
      var stop = kept < 0 ? -1 : p.list.indexOf(kept, from);
      for (var k = (stop < 0 ? from : stop) + 1; k < p.list.length; k++) out[p.list[k]] = 1;
    }
    articles.forEach(function (a) { a.classList.toggle("out", out[a.dataset.i] === 1); });
    edits.forEach(function (d) {
      var e = Number(d.dataset.e);
      d.hidden = force.get(target.get(e)) !== e;
    });
    rows.forEach(function (r) { r.classList.toggle("on", on[r.dataset.t] === 1); });
    where.textContent = "";
    if (to !== leaf) {
      var back = document.createElement("a");
      back.href = "#";
      back.textContent = "Back to the current path";
      where.append("This is another branch. ", back);
    }
  }

  function follow() {
    var id = "";
    try { id = decodeURIComponent(location.hash.slice(1)); } catch (e) { /* no entry has such a name */ }
    var at = id ? document.getElementById(id) : null;
    if (!id) show(leaf);
    if (!at || !("i" in at.dataset)) return;
    if (!on || !on[at.dataset.i]) show(tip(Number(at.dataset.i)));
    at.scrollIntoView();
  }

  var fold = document.createElement("button");
  fold.type = "button";
  fold.textContent = "Unfold all";
  fold.addEventListener("click", function () {
    var open = fold.textContent === "Unfold all";
    main.querySelectorAll("details").forEach(function (d) { d.open = open; });
    fold.textContent = open ? "Fold all" : "Unfold all";
  });
  where.before(fold);
  document.documentElement.classList.add("js");
  show(leaf);
  follow();
  window.addEventListener("hashchange", follow);
})();
