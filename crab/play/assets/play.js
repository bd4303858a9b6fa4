/* The page of `crab play`: draws the state the server tells, and sends what the person does. */
"use strict";

const DOUBLE_MS = 280;
const HOLD_MS = 650;
const TYPING_MS = 700;
const MOVED_PX = 6;
const NOTCH = 100;
const NAMES = {
  Enter: "enter", Tab: "tab", Backspace: "backspace", Delete: "delete", Insert: "insert", Escape: "escape",
  Home: "home", End: "end", PageUp: "page_up", PageDown: "page_down",
  ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right",
  ContextMenu: "menu", PrintScreen: "print_screen", " ": "space",
};
const PHASES = { starting: "starting the devices", turn: "your turn", busy: "working", ended: "ended" };

const byId = (id) => document.getElementById(id);
const devices = new Map();
let state = null;

function element(name, text = "", className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

/* Sending: one request at a time, so that the device gets things in the order they were done. */

let sending = Promise.resolve();

function send(gesture) {
  sending = sending.then(async () => {
    try {
      const answer = await fetch("act", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(gesture),
      });
      complain(answer.ok ? "" : (await answer.json()).error);
    } catch {
      complain("The page has lost its server; look at the terminal.");
    }
  });
}

function complain(text) {
  byId("trouble").textContent = text;
  byId("trouble").hidden = !text;
}

/* One device: its screen, and what is done on it. */

class Device {
  constructor(role) {
    this.role = role;
    this.gestures = [];
    this.figure = element("figure", "", "card device");
    this.caption = element("figcaption");
    this.size = element("span", "", "size");
    this.typing = element("span", "", "typing");
    this.caption.append(element("b", role), this.size, this.typing);
    this.screen = element("div", "", "screen");
    this.screen.tabIndex = 0;
    this.screen.setAttribute("role", "application");
    this.screen.setAttribute("aria-label", `Screen of ${role}`);
    this.image = element("img");
    this.image.draggable = false;
    this.image.alt = `Screen of ${role}`;
    this.screen.append(this.image);
    this.figure.append(this.caption, this.screen);
    this.text = "";
    this.typing.hidden = true;
    this.wheel = { x: 0, y: 0, timer: 0 };
    this.listen();
  }

  update(device) {
    this.gestures = device.gestures;
    this.figure.title = device.description;
    if (!device.frame || device.frame.sha256 === this.shown) return;
    this.shown = device.frame.sha256;
    this.frame = device.frame;
    const { width, height } = device.frame;
    this.image.width = width;
    this.image.height = height;
    this.image.src = `pictures/${device.frame.sha256}`;
    this.size.textContent = `${width} × ${height}`;
    // A small screen is shown larger than it is, no other one.
    this.screen.style.setProperty("--widest", `${Math.max(width, Math.min(720, 2 * width))}px`);
    this.screen.style.setProperty("--ratio", String(width / height));
    this.figure.style.setProperty("--basis", height > width ? "260px" : "420px");
  }

  can(kind) {
    return this.gestures.includes(kind);
  }

  point(event) {
    const box = this.image.getBoundingClientRect();
    const scaled = (at, start, length, pixels) =>
      Math.max(0, Math.min(pixels - 1, Math.floor(((at - start) / length) * pixels)));
    return {
      x: scaled(event.clientX, box.left, box.width, this.frame.width),
      y: scaled(event.clientY, box.top, box.height, this.frame.height),
    };
  }

  do(kind, fields) {
    this.flush();
    send({ kind, environment: this.role, ...fields });
  }

  mark(event) {
    const box = this.screen.getBoundingClientRect();
    const dot = element("span", "", "dot");
    dot.style.left = `${event.clientX - box.left}px`;
    dot.style.top = `${event.clientY - box.top}px`;
    dot.addEventListener("animationend", () => dot.remove());
    this.screen.append(dot);
  }

  listen() {
    const screen = this.screen;
    screen.addEventListener("contextmenu", (event) => event.preventDefault());
    screen.addEventListener("auxclick", (event) => event.preventDefault());
    screen.addEventListener("pointerdown", (event) => this.press(event));
    screen.addEventListener("pointerup", (event) => this.release(event));
    screen.addEventListener("pointercancel", () => { this.pressed = null; });
    screen.addEventListener("wheel", (event) => this.turn(event), { passive: false });
    screen.addEventListener("keydown", (event) => this.key(event));
    screen.addEventListener("paste", (event) => this.paste(event));
    screen.addEventListener("blur", () => this.flush());
  }

  press(event) {
    if (!this.frame || event.button > 2) return;
    event.preventDefault();
    this.screen.focus({ preventScroll: true });
    this.screen.setPointerCapture(event.pointerId);
    this.pressed = { at: event.timeStamp, left: event.clientX, top: event.clientY, ...this.point(event) };
    this.mark(event);
  }

  release(event) {
    const from = this.pressed;
    this.pressed = null;
    if (!from) return;
    const button = ["left", "middle", "right"][event.button];
    const moved = Math.hypot(event.clientX - from.left, event.clientY - from.top) > MOVED_PX;
    if (moved) {
      const to = this.point(event);
      this.mark(event);
      this.single();
      this.do("drag", { x: from.x, y: from.y, to_x: to.x, to_y: to.y, button });
      return;
    }
    const held = event.timeStamp - from.at > HOLD_MS && this.can("hold");
    this.click({ x: from.x, y: from.y, button }, held);
  }

  /* A click waits for a second one only where the device knows double clicks. */
  click(where, held) {
    const first = this.first;
    if (first && !held && first.where.button === where.button
      && Math.hypot(first.where.x - where.x, first.where.y - where.y) < 8) {
      clearTimeout(first.timer);
      this.first = null;
      this.do("double_click", where);
      return;
    }
    this.single();
    if (held || where.button !== "left" || !this.can("double_click")) {
      this.do(held ? "hold" : "click", where);
      return;
    }
    this.first = { where, timer: setTimeout(() => this.single(), DOUBLE_MS) };
  }

  single() {
    if (!this.first) return;
    const { where, timer } = this.first;
    clearTimeout(timer);
    this.first = null;
    this.do("click", where);
  }

  turn(event) {
    if (!this.frame || !this.can("scroll")) return;
    event.preventDefault();
    const pixels = event.deltaMode === 0 ? 1 : NOTCH / 3;
    this.wheel.x += event.deltaX * pixels;
    this.wheel.y += event.deltaY * pixels;
    const where = this.point(event);
    clearTimeout(this.wheel.timer);
    this.wheel.timer = setTimeout(() => {
      const notches = (pixels) => Math.sign(pixels) * Math.min(100, Math.max(pixels ? 1 : 0, Math.round(Math.abs(pixels) / NOTCH)));
      const [down, right] = [notches(this.wheel.y), notches(this.wheel.x)];
      this.wheel.x = this.wheel.y = 0;
      if (down || right) this.do("scroll", { ...where, down, right });
    }, 150);
  }

  key(event) {
    if (event.isComposing || ["Control", "Shift", "Alt", "Meta", "AltGraph", "CapsLock", "Dead"].includes(event.key)) return;
    if (event.key === "Escape" && event.shiftKey) {
      this.screen.blur();
      return;
    }
    const graph = event.getModifierState("AltGraph");
    const typed = [...event.key].length === 1;
    const control = !graph && (event.ctrlKey || event.altKey || event.metaKey);
    if (control && event.key.toLowerCase() === "v" && event.ctrlKey && !this.can("hotkey")) return;
    event.preventDefault();
    this.single();
    if (typed && !control) {
      this.type(event.key);
      return;
    }
    const name = NAMES[event.key] ?? event.key.toLowerCase();
    const modifiers = [["ctrl", event.ctrlKey], ["alt", event.altKey], ["shift", event.shiftKey], ["super", event.metaKey]];
    this.do("keys", { keys: [...modifiers.filter(([, held]) => held).map(([word]) => word), name] });
  }

  paste(event) {
    event.preventDefault();
    this.type(event.clipboardData.getData("text/plain"));
  }

  type(text) {
    this.text += text;
    this.typing.textContent = `${this.text}▏`;
    this.typing.hidden = !this.text;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), TYPING_MS);
  }

  flush() {
    clearTimeout(this.timer);
    if (!this.text) return;
    const text = this.text;
    this.text = "";
    this.typing.hidden = true;
    send({ kind: "text", environment: this.role, text });
  }
}

/* Drawing. */

function draw() {
  byId("task").textContent = state.task.id;
  byId("description").textContent = state.task.description;
  const phase = byId("phase");
  phase.textContent = state.ending ? state.ending.title : PHASES[state.phase];
  phase.className = `outcome ${state.ending ? (state.ending.success ? "success" : "") : state.phase}`;
  for (const device of state.devices) {
    if (!devices.has(device.role)) {
      devices.set(device.role, new Device(device.role));
      byId("devices").append(devices.get(device.role).figure);
    }
    devices.get(device.role).update(device);
  }
  drawCheckpoints();
  drawSteps();
  drawTools();
  for (const button of document.querySelectorAll("button")) button.disabled = !["turn", "busy"].includes(state.phase);
  byId("ending").hidden = !state.ending;
  if (state.ending) {
    byId("ending").classList.toggle("success", state.ending.success);
    byId("ending-title").textContent = `${state.ending.title}.`;
    byId("ending-text").textContent = `${state.ending.text} The record is complete; you may close this page.`;
  }
}

function drawCheckpoints() {
  byId("checkpoints-card").hidden = !state.checkpoints;
  if (!state.checkpoints) return;
  const passed = state.checkpoints.filter((checkpoint) => checkpoint.state === "passed").length;
  byId("passed").textContent = `${passed} of ${state.checkpoints.length}`;
  byId("checkpoints").replaceChildren(...state.checkpoints.map((checkpoint) => {
    const item = element("li", checkpoint.label);
    item.dataset.state = checkpoint.state;
    item.dataset.id = checkpoint.id;
    item.title = `${checkpoint.id}: ${checkpoint.state}`;
    return item;
  }));
}

function drawSteps() {
  const several = state.devices.length > 1;
  const steps = state.steps;
  byId("none").hidden = steps.length > 0;
  byId("count").textContent = String(steps.reduce((most, step) => Math.max(most, step.step ?? 0), 0) || "");
  byId("steps").replaceChildren(...[...steps].reverse().map((step) => {
    const item = element("li");
    if (step.kind !== "action") {
      item.append(element("span", step.text, step.kind === "refused" ? "error" : "hint"));
      return item;
    }
    const values = Object.entries(step.arguments).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
    item.append(element("span", `${step.step}`, "number"), `${several ? `${step.environment} ` : ""}${step.action} `, element("code", values.join(", ")));
    if (step.error) item.append(element("span", step.error, "error"));
    return item;
  }));
}

/* Tools that have no gesture: a form made from the schema. */

function drawTools() {
  const select = byId("tools");
  if (select.options.length || !state.tools.length) return;
  for (const tool of state.tools.filter((tool) => !tool.root)) select.append(new Option(tool.name, tool.name));
  drawFields();
}

function chosen() {
  return state.tools.find((tool) => tool.name === byId("tools").value);
}

function drawFields() {
  const tool = chosen();
  if (!tool) return;
  byId("tool-text").textContent = tool.description.split("\n\n")[0];
  byId("fields").replaceChildren(...Object.entries(tool.parameters.properties ?? {}).map(([name, schema]) => {
    const label = element("label", name);
    label.title = schema.description ?? "";
    let field = element("input");
    if (schema.enum) {
      field = element("select");
      if (!(tool.parameters.required ?? []).includes(name)) field.append(new Option("", ""));
      for (const value of schema.enum) field.append(new Option(value, value));
    }
    field.name = name;
    field.autocomplete = "off";
    field.placeholder = schema.default === undefined ? schema.type ?? "JSON" : `${JSON.stringify(schema.default)}`;
    label.append(field);
    return label;
  }));
}

function fieldValues(tool) {
  const values = {};
  for (const [name, schema] of Object.entries(tool.parameters.properties ?? {})) {
    const text = byId("fields").querySelector(`[name="${CSS.escape(name)}"]`).value;
    if (text === "" && !(tool.parameters.required ?? []).includes(name)) continue;
    if (schema.type === "string" || schema.enum) {
      values[name] = text;
      continue;
    }
    try {
      values[name] = JSON.parse(text);
    } catch {
      values[name] = text;
    }
  }
  return values;
}

function useTool(name, args = {}) {
  for (const device of devices.values()) {
    device.single();
    device.flush();
  }
  send({ kind: "tool", name, arguments: args });
}

byId("tools").addEventListener("change", drawFields);
byId("tool").addEventListener("submit", (event) => {
  event.preventDefault();
  const tool = chosen();
  if (tool) useTool(tool.name, fieldValues(tool));
});
byId("submit").addEventListener("submit", (event) => {
  event.preventDefault();
  useTool("submit", { answer: byId("answer").value });
});
byId("wait").addEventListener("click", () => useTool("wait", { seconds: 1 }));
byId("complete").addEventListener("click", () => useTool("complete"));
byId("infeasible").addEventListener("click", () => {
  const reason = window.prompt("Why can it not be done? This ends the task.");
  if (reason !== null) useTool("declare_infeasible", { reason });
});

/* Following. */

async function follow() {
  let version = 0;
  for (;;) {
    try {
      const answer = await fetch(`state?after=${version}`);
      if (!answer.ok) throw new Error((await answer.json()).error);
      state = await answer.json();
      version = state.version;
      draw();
      if (state.ending) {
        await Promise.all(Array.from(document.images, (image) => image.decode().catch(() => null)));
        await fetch("seen");
        return;
      }
    } catch (error) {
      complain(`The page has lost its server; look at the terminal. (${error.message})`);
      byId("phase").textContent = "not connected";
      return;
    }
  }
}

follow();
