// Draws an action on a screenshot. Places are percentages of the picture, so marks follow it at any size;
// what surrounds a place (rings, arrowheads) is in pixels of the page, so it stays legible.
window.drawMark = (function () {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";

  function element(name, attributes, ...children) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) {
      made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }

  const percent = (part, whole) => `${(100 * part) / whole}%`;

  // A coordinate system in page pixels whose origin is a point of the picture.
  function place(point, frame, ...children) {
    return element("svg", { x: percent(point[0], frame.width), y: percent(point[1], frame.height), overflow: "visible" }, ...children);
  }

  const haloed = (name, attributes) => [
    element(name, { ...attributes, class: `halo ${attributes.class || ""}` }),
    element(name, { ...attributes, class: `ink ${attributes.class || ""}` }),
  ];

  function ring(radius, kind) {
    return haloed("circle", { r: radius, class: kind });
  }

  function word(text, x, y) {
    return element("text", { x, y, class: "word" }, text);
  }

  const shapes = {
    click: () => [...ring(15, "ring"), element("circle", { r: 3, class: "dot" })],
    double: () => [...ring(15, "ring"), ...ring(22, "second"), element("circle", { r: 3, class: "dot" }), word("2×", 26, -14)],
    right: () => [...ring(15, "ring"), element("path", { d: "M0 -15A15 15 0 0 1 0 15Z", class: "half" }), word("right", 22, -12)],
    middle: () => [...ring(15, "ring"), element("rect", { x: -3, y: -9, width: 6, height: 18, rx: 3, class: "dot" }), word("middle", 22, -12)],
    hold: () => [...ring(15, "ring"), ...ring(23, "second dashed"), element("circle", { r: 5, class: "dot" }), word("hold", 28, -14)],
    press: () => [...ring(15, "ring"), element("path", { d: "M0 -7V7M-5 2L0 7L5 2", class: "ink thin" }), word("press", 22, -12)],
    release: () => [...ring(15, "ring dashed"), element("path", { d: "M0 7V-7M-5 -2L0 -7L5 -2", class: "ink thin" }), word("release", 22, -12)],
    move: () => [...haloed("path", { d: "M-12 0H12M0 -12V12", class: "cross" })],
  };

  function scroll(by) {
    const length = Math.hypot(by[0], by[1]);
    const [x, y] = length ? [by[0] / length, by[1] / length] : [0, 1];
    const [ex, ey] = [x * 44, y * 44];
    const head = `M${ex - 9 * (x + y)} ${ey - 9 * (y - x)}L${ex} ${ey}L${ex - 9 * (x - y)} ${ey - 9 * (y + x)}`;
    const shaft = `M${-ex * 0.4} ${-ey * 0.4}L${ex} ${ey}${head}`;
    return [...haloed("path", { d: shaft, class: "arrow" }), word(`scroll ${length || ""}`, 16 + Math.max(ex, 0), 4)];
  }

  function line(mark, frame) {
    const ends = {
      x1: percent(mark.at[0], frame.width),
      y1: percent(mark.at[1], frame.height),
      x2: percent(mark.to[0], frame.width),
      y2: percent(mark.to[1], frame.height),
    };
    const angle = (Math.atan2(mark.to[1] - mark.at[1], mark.to[0] - mark.at[0]) * 180) / Math.PI;
    const head = element("g", { transform: `rotate(${angle})` }, ...haloed("path", { d: "M-13 -8L0 0L-13 8", class: "arrow" }));
    return [...haloed("line", { ...ends, class: mark.kind === "move" ? "dashed" : "" }), place(mark.to, frame, head)];
  }

  // Returns a group for one mark, or null when it has no place on the picture.
  return function drawMark(mark, frame, { current, number }) {
    const at = mark.at || mark.to;
    if (!at || mark.kind === "text" && !mark.at) {
      return null;
    }
    const group = element("g", { class: `mark ${mark.kind}${current ? " current" : ""}` });
    if (mark.to && mark.at) {
      group.append(...line(mark, frame));
    }
    const drawn = mark.kind === "scroll" ? scroll(mark.by || [0, 1]) : (shapes[mark.kind] || shapes.click)();
    if (!(mark.kind === "move" && mark.to && mark.at)) {
      group.append(place(at, frame, ...drawn));
    }
    if (number) {
      const badge = [element("circle", { cx: -17, cy: -17, r: 9, class: "badge" }), element("text", { x: -17, y: -13, class: "badge-text" }, String(number))];
      group.append(place(at, frame, ...badge));
    }
    return group;
  };
})();
