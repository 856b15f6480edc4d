(() => {
  "use strict";
  const root = document.documentElement;
  window.addEventListener("error", (event) => { root.dataset.error = event.message; });

  const drawn = JSON.parse(document.getElementById("drawn").textContent);
  const plot = document.getElementById("plot");
  const tip = document.getElementById("tip");
  const svg = plot.querySelector("svg.scatter");
  const points = [...svg.querySelectorAll("#points circle")];
  const places = points.map((point) => [+point.getAttribute("cx"), +point.getAttribute("cy")]);
  const lines = new Map([...svg.querySelectorAll("line")].map((line) => [+line.dataset.n, line]));
  const linksOf = points.map(() => []);
  drawn.links.forEach(([a, b], number) => { linksOf[a].push(number); linksOf[b].push(number); });

  // What is shown: check boxes, the colour switch, and the same by the address (#violated,by-label).
  const boxes = { must: "show-must", cannot: "show-cannot", violated: "only-violated" };
  const colours = [...plot.querySelectorAll("input[name=colour]")];

  function show() {
    for (const [name, id] of Object.entries(boxes)) {
      const box = document.getElementById(id);
      if (box) plot.dataset[name] = box.checked ? "on" : "off";
    }
    const colour = colours.find((choice) => choice.checked);
    if (colour && plot.dataset.colour !== colour.value) {
      plot.dataset.colour = colour.value;
      bringOut(null);
    }
  }

  function readAddress() {
    const words = location.hash.slice(1).split(",");
    const set = (id, checked) => { const box = document.getElementById(id); if (box) box.checked = checked; };
    if (words.includes("violated")) set("only-violated", true);
    if (words.includes("all")) set("only-violated", false);
    if (words.includes("no-must-links")) set("show-must", false);
    if (words.includes("no-cannot-links")) set("show-cannot", false);
    for (const choice of colours) if (words.includes(`by-${choice.value}`)) choice.checked = true;
    show();
  }

  // The legend: one group is brought out, the others fade.
  function bringOut(button) {
    const chosen = button && button.getAttribute("aria-pressed") !== "true" ? button : null;
    for (const other of plot.querySelectorAll(".legend button")) {
      other.setAttribute("aria-pressed", String(other === chosen));
    }
    for (const point of points) {
      point.classList.toggle("dim", chosen !== null && !point.classList.contains(chosen.dataset.group));
    }
  }

  // The point under the pointer: who it is, and what was asked of it.
  let near = -1;

  function nearest(event) {
    const frame = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / frame.width;
    const x = (event.clientX - frame.left) * scale;
    const y = (event.clientY - frame.top) * scale;
    let best = -1;
    let least = (14 * scale) ** 2;
    places.forEach(([px, py], number) => {
      const distance = (px - x) ** 2 + (py - y) ** 2;
      if (distance < least) { least = distance; best = number; }
    });
    return best;
  }

  function mark(number, on) {
    if (number < 0) return;
    points[number].classList.toggle("near", on);
    for (const link of linksOf[number]) lines.get(link).classList.toggle("hot", on);
  }

  function add(tag, text, name) {
    const element = document.createElement(tag);
    element.textContent = text;
    if (name) element.className = name;
    tip.append(element);
  }

  function point(number) {
    if (number === near) return;
    mark(near, false);
    near = number;
    mark(near, true);
    tip.hidden = number < 0;
    if (number < 0) return;
    tip.replaceChildren();
    add("b", drawn.ids[number]);
    if (drawn.about) for (const line of drawn.about[number]) add("div", line);
    else add("div", drawn.k[number] < 0 ? "in no cluster" : `cluster ${drawn.clusters[drawn.k[number]]}`);
    if (drawn.t) add("div", drawn.t[number] < 0 ? "class unknown" : `true class ${drawn.classes[drawn.t[number]]}`);
    for (const link of linksOf[number].slice(0, 5)) {
      const [a, b, cannot, violated] = drawn.links[link];
      const other = drawn.ids[a === number ? b : a];
      add("div", `${cannot ? "cannot-link" : "must-link"} with ${other}${violated ? ", violated" : ""}`, violated ? "broken" : "");
    }
    if (linksOf[number].length > 5) add("div", `and ${linksOf[number].length - 5} more`);
    const frame = svg.getBoundingClientRect();
    const scale = frame.width / svg.viewBox.baseVal.width;
    const [x, y] = [places[number][0] * scale, places[number][1] * scale];
    tip.style.left = `${Math.max(0, Math.min(x + 12, frame.width - tip.offsetWidth - 2))}px`;
    tip.style.top = `${y + 14 + tip.offsetHeight > frame.height ? Math.max(0, y - tip.offsetHeight - 12) : y + 14}px`;
  }

  svg.addEventListener("pointermove", (event) => point(nearest(event)));
  svg.addEventListener("pointerdown", (event) => point(nearest(event)));
  svg.addEventListener("pointerleave", () => point(-1));
  plot.addEventListener("change", show);
  plot.addEventListener("click", (event) => {
    const button = event.target.closest(".legend button");
    if (button) bringOut(button);
  });
  for (const row of document.querySelectorAll(".asked tr[data-n]")) {
    const line = lines.get(+row.dataset.n);
    row.addEventListener("pointerenter", () => line.classList.add("hot"));
    row.addEventListener("pointerleave", () => line.classList.remove("hot"));
  }
  window.addEventListener("hashchange", readAddress);
  readAddress();
  root.dataset.ready = "true";
})();
