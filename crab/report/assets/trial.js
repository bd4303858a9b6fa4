// Steps through one trial. The data is window.TRIAL (see crab/report/timeline.py). Everything in it is text that an
// agent or a task wrote, so it only ever becomes text nodes.
(function () {
  "use strict";

  const trial = window.TRIAL;
  const byId = (id) => document.getElementById(id);
  const siblings = byId("siblings");
  if (siblings) {
    siblings.addEventListener("change", () => window.location.assign(siblings.value));
  }
  if (!trial || !trial.stops || !byId("steps")) {
    return;
  }

  const SIGNS = { w: "", a: "•", p: "✓", i: "✓", u: "?", f: "✗" };
  const STATES = { w: "waiting", a: "active", p: "passed", i: "implied", u: "unknown", f: "failed at the end" };
  const { stops, turns, nodes } = trial;
  const view = { at: 0, after: false, marks: true, frames: {} };
  const cards = [];
  const figures = new Map();

  function make(name, options, ...children) {
    const { class: classes, data, on, ...rest } = options || {};
    const made = document.createElement(name);
    if (classes) {
      made.className = classes;
    }
    Object.assign(made.dataset, data || {});
    for (const [key, value] of Object.entries(rest)) {
      made.setAttribute(key, value);
    }
    for (const [event, handler] of Object.entries(on || {})) {
      made.addEventListener(event, handler);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return made;
  }

  const label = (id) => (Object.hasOwn(trial.labels, id) ? trial.labels[id] : id);
  const seconds = (value) => (value < 0.1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(value < 10 ? 1 : 0)} s`);
  const json = (value) => JSON.stringify(value);
  const tool = (stop) => (stop.environment ? `${stop.environment} · ${stop.title}` : stop.title);

  function argumentList(given) {
    const list = make("span", { class: "arguments" });
    const pairs = given && typeof given === "object" && !Array.isArray(given) ? Object.entries(given) : [["", given]];
    for (const [name, value] of pairs) {
      list.append(make("span", {}, make("i", {}, name ? `${name} ` : ""), json(value) ?? "null"));
    }
    return list;
  }

  // A JSON value, or a link to the file it was put into because it is large.
  function answer(value) {
    if (value && typeof value === "object" && typeof value.shot === "string" && /^[0-9a-f]{64}$/.test(value.shot)) {
      return make("a", { href: `${trial.shots}${value.shot}.json` }, "large answer, in the record");
    }
    return make("code", {}, json(value) ?? "null");
  }

  // The checkpoint graph.

  const drawn = new Map(Array.from(document.querySelectorAll("#graph .node"), (node) => [node.dataset.id, node]));
  const edges = Array.from(document.querySelectorAll("#graph .edge"));

  // A wide graph shrinks to its place as long as it stays legible, then it scrolls.
  const drawing = byId("graph");
  if (drawing) {
    drawing.style.minWidth = `${Math.round(0.8 * drawing.viewBox.baseVal.width)}px`;
  }

  const passedAt = new Map();
  stops.forEach((stop, index) => stop.passes.forEach((pass) => passedAt.set(pass.checkpoint, { index, pass })));

  function whenWords(id) {
    const { index } = passedAt.get(id);
    const stop = stops[index];
    return stop.kind === "action" && stop.counted ? `step ${stop.step}` : stop.title.toLowerCase();
  }

  function paintGraph(stop) {
    nodes.forEach((id, index) => {
      const node = drawn.get(id);
      const state = stop.states[index];
      const passed = state === "p" || state === "i";
      node.dataset.state = state;
      node.classList.toggle("fresh", stop.passes.some((pass) => pass.checkpoint === id));
      node.querySelector(".sign").textContent = SIGNS[state];
      node.querySelector(".when").textContent = passed ? whenWords(id) : "";
      node.setAttribute("aria-label", `${label(id)}: ${STATES[state]}`);
    });
    for (const edge of edges) {
      edge.classList.toggle("passed", "pi".includes(stop.states[nodes.indexOf(edge.dataset.source)]));
    }
    const focus = nodes.find((id) => drawn.get(id).classList.contains("fresh")) || nodes.find((_, index) => "auf".includes(stop.states[index]));
    if (focus) {
      reveal(byId("drawing"), drawn.get(focus));
    }
  }

  // Scrolls inside a box only, never the page.
  function reveal(box, inner) {
    const outer = box.getBoundingClientRect();
    const place = inner.getBoundingClientRect();
    if (place.top < outer.top || place.bottom > outer.bottom) {
      box.scrollTop += place.top + place.height / 2 - outer.top - outer.height / 2;
    }
    if (place.left < outer.left || place.right > outer.right) {
      box.scrollLeft += place.left + place.width / 2 - outer.left - outer.width / 2;
    }
  }

  // The screens.

  function shownTurn(stop) {
    if (stop.kind === "start") {
      return turns[0] ? turns[0].environments : trial.final;
    }
    if (stop.kind === "end") {
      return trial.final || (turns.length ? turns[turns.length - 1].environments : null);
    }
    return stop.turn >= 0 ? turns[stop.turn].environments : null;
  }

  function nextTurn(stop) {
    if (stop.turn < 0) {
      return null;
    }
    const next = turns[stop.turn + 1];
    return next ? next.environments : trial.final;
  }

  function figureOf(role) {
    if (!figures.has(role)) {
      const image = make("img", { alt: `Screen of ${role}`, decoding: "sync" });
      const overlay = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      overlay.setAttribute("class", "overlay");
      const typed = make("p", { class: "typed" });
      const words = make("figcaption", {});
      const link = make("a", { class: "screen", title: "Open the picture alone" }, image);
      const node = make("figure", { data: { environment: role } }, make("div", { class: "frame" }, link, overlay, typed), words);
      figures.set(role, { node, image, overlay, typed, words, link });
    }
    return figures.get(role);
  }

  function paintScreens(stop) {
    const after = view.after ? nextTurn(stop) : null;
    const shown = after || shownTurn(stop) || {};
    const roles = Object.keys(shown).filter((role) => shown[role].frames.length);
    const screens = byId("screens");
    screens.replaceChildren(...roles.map((role) => paintFigure(role, shown[role], stop, Boolean(after))));
    if (!roles.length) {
      screens.append(make("p", { class: "empty" }, "No screenshot was taken here."));
    }
    // Equal heights: each screen is as wide as its shape asks.
    const shapes = roles.map((role) => shown[role].frames[0].width / shown[role].frames[0].height);
    roles.forEach((role, index) => figures.get(role).node.style.setProperty("flex-grow", String(shapes[index])));
    screens.style.setProperty("--shape", String(shapes.reduce((sum, shape) => sum + shape, 0) || 1));
  }

  function paintFigure(role, shown, stop, isAfter) {
    const { node, image, overlay, typed, words, link } = figureOf(role);
    const chosen = view.frames[role] ?? shown.frames.length - 1;
    const frame = shown.frames[Math.min(chosen, shown.frames.length - 1)];
    const address = trial.shots + frame.file;
    if (image.getAttribute("src") !== address) {
      image.src = address;
    }
    image.width = frame.width;
    image.height = frame.height;
    link.href = address;
    node.classList.toggle("acted", stop.environment === role);
    words.replaceChildren(make("b", {}, role), make("span", {}, `${frame.width}×${frame.height} · ${frame.time.toFixed(1)} s`));
    if (shown.accessibility) {
      words.append(make("a", { href: trial.shots + shown.accessibility }, "accessibility tree"));
    }
    if (shown.frames.length > 1) {
      words.append(frameChoice(role, shown.frames, frame));
    }
    overlay.replaceChildren();
    const typing = !isAfter && view.marks && stop.environment === role && stop.mark && stop.mark.caption ? stop.mark : null;
    typed.hidden = !typing;
    typed.replaceChildren(...(typing ? typedWords(typing) : []));
    if (!isAfter && view.marks) {
      overlay.append(...marksOf(role, frame, stop));
    }
    return node;
  }

  function typedWords(mark) {
    if (mark.kind === "keys") {
      return mark.caption.split(" + ").flatMap((key, index) => (index ? [" + ", make("kbd", {}, key)] : [make("kbd", {}, key)]));
    }
    return [make("span", { class: "hint" }, mark.kind === "text" ? "types " : ""), mark.caption];
  }

  function frameChoice(role, frames, current) {
    const choose = (index) => () => {
      view.frames[role] = index === frames.length - 1 ? undefined : index;
      paintScreens(stops[view.at]);
    };
    const buttons = frames.map((frame, index) =>
      make("button", { type: "button", title: `Frame at ${frame.time.toFixed(2)} s`, "aria-pressed": String(frame === current), on: { click: choose(index) } }, String(index + 1)),
    );
    return make("span", { class: "frames" }, "frames ", ...buttons);
  }

  // The marks of all actions decided on this observation, the one stood on in front.
  function marksOf(role, frame, stop) {
    const same = stop.turn < 0 ? [] : stops.filter((other) => other.turn === stop.turn && other.environment === role && other.mark);
    const placed = same.filter((other) => other.mark.at || other.mark.to);
    const ordered = [...placed.filter((other) => other !== stop), ...placed.filter((other) => other === stop)];
    return ordered
      .map((other) => window.drawMark(other.mark, frame, { current: other === stop, number: placed.length > 1 ? placed.indexOf(other) + 1 : 0 }))
      .filter(Boolean);
  }

  // What is said below the screens.

  function outcomeWords(stop) {
    if (stop.kind === "end") {
      return stop.reason ? `${stop.valid ? "" : "invalid: "}${stop.reason.replaceAll("_", " ")}` : "";
    }
    return "";
  }

  function callLine(stop) {
    const line = make("span", { class: "call" }, make("b", {}, tool(stop)));
    if (stop.kind === "action" || stop.kind === "refused") {
      line.append(argumentList(stop.arguments));
    }
    line.append(make("span", { class: "end-words" }, outcomeWords(stop)));
    return line;
  }

  function resultLine(stop) {
    if (stop.error) {
      const words = stop.kind === "refused" ? `refused, ${(stop.reason || "").replaceAll("_", " ")}: ` : "failed: ";
      return make("p", { class: "result bad" }, words, stop.error);
    }
    return stop.value === null || stop.value === undefined ? null : make("p", { class: "result" }, "returned ", answer(stop.value));
  }

  function passLine(stop) {
    if (!stop.passes.length) {
      return null;
    }
    const chips = stop.passes.map((pass) =>
      make("li", { class: pass.implied_by ? "implied" : "", title: pass.checkpoint }, `✓ ${label(pass.checkpoint)}`, make("small", {}, pass.implied_by ? ` with ${label(pass.implied_by)}` : "")),
    );
    return make("ul", { class: "passes" }, ...chips);
  }

  function questions(stop) {
    if (!stop.checks.length && !stop.probes.length) {
      return null;
    }
    const rows = stop.checks.map((check) => {
      const words = check.value === null ? "unknown" : check.value ? "yes" : "no";
      return make("tr", {}, make("td", { title: check.checkpoint }, label(check.checkpoint)), make("td", { class: `verdict ${words}` }, words), make("td", {}, check.reason));
    });
    const asked = stop.probes.map((probe) =>
      make(
        "tr",
        {},
        make("td", {}, `${probe.environment} · ${probe.name}`, argumentList(probe.arguments)),
        make("td", { colspan: "2" }, probe.error ? make("span", { class: "bad" }, probe.error) : answer(probe.answer), make("small", {}, ` ${seconds(probe.seconds)}`)),
      ),
    );
    const words = `${stop.checks.length} checkpoint${stop.checks.length === 1 ? "" : "s"} asked, ${stop.probes.length} probe${stop.probes.length === 1 ? "" : "s"}`;
    return make("details", { class: "questions" }, make("summary", {}, words), make("table", {}, make("tbody", {}, ...rows, ...asked)));
  }

  function extras(stop) {
    const parts = [];
    for (const item of stop.setup || []) {
      parts.push(make("p", { class: "setup" }, item.text, item.arguments ? argumentList(item.arguments) : "", make("small", {}, seconds(item.seconds))));
    }
    for (const call of stop.skipped || []) {
      parts.push(make("p", { class: "result" }, make("b", {}, call.title), ` ${call.error}`));
    }
    for (const error of stop.errors || []) {
      parts.push(make("p", { class: "result bad" }, `${error.where} (${error.blame}): ${error.type}: ${error.message}`));
    }
    return parts;
  }

  function badge(stop) {
    const words = { start: "▸", end: "■", refused: "!", decision: "·" };
    return make("span", { class: `badge ${stop.kind}` }, stop.kind === "action" && stop.counted ? String(stop.step) : words[stop.kind] || "·");
  }

  function timing(stop) {
    if (stop.kind !== "action") {
      return null;
    }
    const settled = stop.settled ? `settled in ${seconds(stop.settle_seconds)}` : "did not settle";
    return make("span", { class: "timing", title: settled }, seconds(stop.seconds));
  }

  function stopCard(stop, index) {
    const head = make("button", { type: "button", class: "head", on: { click: () => go(index) } }, badge(stop), callLine(stop), timing(stop));
    const card = make("li", { class: `stop ${stop.kind}`, id: `stop-${stop.id}`, data: { stop: stop.id } }, head, resultLine(stop), passLine(stop), ...extras(stop), questions(stop));
    cards[index] = card;
    return card;
  }

  function usageLine(turn) {
    if (!turn.usage) {
      return null;
    }
    const use = turn.usage;
    const parts = [`${use.input + use.cache_read + use.cache_write + use.output} tokens`];
    if (use.cost !== null) {
      parts.push(`$${use.cost.toFixed(4)}`);
    }
    parts.push(seconds(turn.seconds));
    const detail = `input ${use.input}, cache read ${use.cache_read}, cache write ${use.cache_write}, output ${use.output} (reasoning ${use.reasoning}), model calls ${use.model_calls}`;
    return make("span", { class: "usage", title: detail }, parts.join(" · "));
  }

  function message(said) {
    const who = said.recipient ? `${said.sender} → ${said.recipient}` : said.sender;
    return make("p", { class: `message ${said.kind === "reasoning" ? "reasoning" : ""}` }, make("b", {}, who), said.kind === "reasoning" ? make("i", {}, "thinks") : "", make("span", {}, said.text));
  }

  function turnBlock(turn, entries) {
    const title = make("h3", {}, `Turn ${turn.number}`, usageLine(turn));
    return make("section", { class: "card turn" }, title, ...(turn.messages || []).map(message), make("ol", {}, ...entries));
  }

  function buildSteps() {
    const blocks = [];
    let index = 0;
    while (index < stops.length) {
      const { turn } = stops[index];
      const entries = [];
      do {
        entries.push(stopCard(stops[index], index));
        index += 1;
      } while (turn >= 0 && index < stops.length && stops[index].turn === turn);
      blocks.push(turn >= 0 ? turnBlock(turns[turn], entries) : make("section", { class: "card turn" }, make("ol", {}, ...entries)));
    }
    byId("steps").append(...blocks);
  }

  function buildScrubber() {
    const ticks = stops.map((stop, index) => {
      const kind = stop.passes.length ? "good" : stop.kind === "refused" || stop.error ? "bad" : "";
      return make("button", { type: "button", class: kind, title: whereWords(stop), "aria-label": whereWords(stop), on: { click: () => go(index) } });
    });
    byId("scrubber").append(...ticks);
  }

  function whereWords(stop) {
    if (stop.kind === "action" && stop.counted) {
      return `Step ${stop.step}: ${stop.title}`;
    }
    return stop.kind === "refused" ? `Refused: ${stop.title}` : stop.title[0].toUpperCase() + stop.title.slice(1);
  }

  // Standing on a stop.

  function paint() {
    const stop = stops[view.at];
    const last = Math.max(0, ...stops.map((other) => other.step || 0));
    byId("where").replaceChildren(make("b", {}, stop.kind === "action" && stop.counted ? `Step ${stop.step} of ${last}` : whereWords(stop)), make("span", {}, stop.turn >= 0 ? `turn ${turns[stop.turn].number}` : ""));
    byId("previous").disabled = view.at === 0;
    byId("next").disabled = view.at === stops.length - 1;
    const hasAfter = nextTurn(stop) !== null;
    byId("after").disabled = !hasAfter;
    byId("before").setAttribute("aria-pressed", String(!(view.after && hasAfter)));
    byId("after").setAttribute("aria-pressed", String(view.after && hasAfter));
    byId("marks").setAttribute("aria-pressed", String(view.marks));
    Array.from(byId("scrubber").children).forEach((tick, index) => tick.classList.toggle("current", index === view.at));
    cards.forEach((card, index) => {
      card.classList.toggle("current", index === view.at);
      card.firstChild.toggleAttribute("aria-current", index === view.at);
    });
    byId("caption").replaceChildren(badge(stop), callLine(stop), ...[resultLine(stop), passLine(stop)].filter(Boolean));
    paintGraph(stop);
    paintScreens(stop);
  }

  function go(index) {
    view.at = Math.min(Math.max(index, 0), stops.length - 1);
    view.frames = {};
    paint();
    const hash = `#${encodeURIComponent(stops[view.at].id)}`;
    if (window.location.hash !== hash) {
      window.history.replaceState(null, "", hash);
    }
  }

  function toggle(name) {
    view[name] = !view[name];
    paint();
  }

  function indexOfHash() {
    const wanted = decodeURIComponent(window.location.hash.slice(1));
    return stops.findIndex((stop) => stop.id === wanted);
  }

  const keys = {
    ArrowLeft: () => go(view.at - 1),
    ArrowRight: () => go(view.at + 1),
    Home: () => go(0),
    End: () => go(stops.length - 1),
    a: () => toggle("after"),
    m: () => toggle("marks"),
  };

  function onKey(event) {
    const node = event.target.closest && event.target.closest(".node");
    if (node && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      goToNode(node.dataset.id);
      return;
    }
    const plain = !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);
    const typing = event.target.closest && event.target.closest("input, select, textarea");
    if (plain && !typing && Object.hasOwn(keys, event.key)) {
      event.preventDefault();
      keys[event.key]();
    }
  }

  function goToNode(id) {
    if (passedAt.has(id)) {
      go(passedAt.get(id).index);
    }
  }

  buildSteps();
  buildScrubber();
  byId("previous").addEventListener("click", () => go(view.at - 1));
  byId("next").addEventListener("click", () => go(view.at + 1));
  byId("before").addEventListener("click", () => view.after && toggle("after"));
  byId("after").addEventListener("click", () => !view.after && toggle("after"));
  byId("marks").addEventListener("click", () => toggle("marks"));
  for (const [id, node] of drawn) {
    node.addEventListener("click", () => goToNode(id));
  }
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", () => indexOfHash() >= 0 && indexOfHash() !== view.at && go(indexOfHash()));
  view.at = Math.max(indexOfHash(), 0);
  paint();
})();
