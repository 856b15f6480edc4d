(() => {
  "use strict";
  const root = document.documentElement;
  window.addEventListener("error", (event) => { root.dataset.error = event.message; });

  const data = JSON.parse(document.getElementById("seeds").textContent);
  const tau = data.tau === null ? Infinity : data.tau;
  const SHOWN = 3, TELLING = 3;
  const DAMPED = { sqrt: Math.sqrt, log1p: Math.log1p, binary: () => 1, identity: (count) => count };

  // Seeds: word to weight, of unit length; and for every word the seeds that have it.
  const place = new Map(data.words.map((word, number) => [word, number]));
  const seeds = data.seeds.map((steps, category) => {
    const seed = new Map();
    let word = 0, squares = 0;
    steps.forEach((step, entry) => {
      word += step;
      const weight = data.weights[category][entry] / 1e6;
      seed.set(word, weight);
      squares += weight * weight;
    });
    const length = Math.sqrt(squares) || 1;
    for (const [key, weight] of seed) seed.set(key, weight / length);
    return seed;
  });
  const holders = new Map();
  seeds.forEach((seed, category) => {
    for (const word of seed.keys()) {
      if (!holders.has(word)) holders.set(word, []);
      holders.get(word).push(category);
    }
  });

  // Words as they were counted: at least two letters, digits or underscores, in lower case; only
  // those that the documents were known by.
  function count(text) {
    const found = new Map();
    for (const word of text.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) || []) {
      if (place.has(word)) found.set(place.get(word), (found.get(place.get(word)) || 0) + 1);
    }
    let squares = 0;
    for (const [word, times] of found) {
      const value = DAMPED[data.damping](times) * (data.idf ? data.idf[word] : 1);
      found.set(word, value);
      squares += value * value;
    }
    return { words: found, length: Math.sqrt(squares) };
  }

  function ownCosine(seed, other, text) {
    let product = 0, squares = 0;
    for (const [word, weight] of seed) {
      if (other.has(word)) continue;
      squares += weight * weight;
      product += weight * (text.words.get(word) || 0);
    }
    return squares > 0 ? product / (Math.sqrt(squares) * text.length) : 0;
  }

  function telling(seed, other, text) {
    const values = [];
    for (const [word, value] of text.words) {
      if (seed.has(word) && !(other && other.has(word))) values.push([value * seed.get(word), word]);
    }
    values.sort((a, b) => b[0] - a[0]);
    return values.slice(0, TELLING).map(([, word]) => data.words[word]);
  }

  // The domination matrix: by cosine, or by words of one's own where cosines are about equal.
  function rank(text) {
    const scores = new Map();
    for (const [word, value] of text.words) {
      for (const category of holders.get(word) || []) {
        scores.set(category, (scores.get(category) || 0) + value * seeds[category].get(word));
      }
    }
    const near = [...scores].map(([category, score]) => ({ category, cosine: score / text.length }))
      .filter((one) => one.cosine >= data.least)
      .sort((a, b) => b.cosine - a.cosine || a.category - b.category).slice(0, SHOWN);
    const ahead = (a, b) => a.cosine - b.cosine;
    const byOwn = (a, b) => Math.abs(ahead(a, b)) < tau &&
      ownCosine(seeds[a.category], seeds[b.category], text) >
      ownCosine(seeds[b.category], seeds[a.category], text);
    for (const one of near) {
      one.wins = near.filter((other) => other !== one && (ahead(one, other) >= tau || byOwn(one, other))).length;
    }
    near.sort((a, b) => b.wins - a.wins || b.cosine - a.cosine || a.category - b.category);
    near.forEach((one, number) => {
      const next = near[number + 1];
      const own = next !== undefined && byOwn(one, next);
      one.words = telling(seeds[one.category], own ? seeds[next.category] : null, text);
      one.reason = next === undefined ? "last" : own ? "own words"
        : ahead(one, next) >= tau || one.wins === next.wins ? "cosine" : "others";
    });
    return near;
  }

  const REASONS = {
    last: (one) => `cosine ${one.cosine.toFixed(3)}, by ${one.words.join(", ")}`,
    cosine: (one) => `cosine ${one.cosine.toFixed(3)}, by ${one.words.join(", ")}`,
    "own words": (one) => `cosine ${one.cosine.toFixed(3)}, about that of the next; first by words of its own: ${one.words.join(", ")}`,
    others: (one) => `cosine ${one.cosine.toFixed(3)}; it dominates more of the candidates`,
  };

  const box = document.getElementById("new-text");
  const list = document.getElementById("ranked");

  function item(name, reason, style) {
    const line = document.createElement("li");
    if (style) line.className = style;
    const bold = document.createElement(name ? "b" : "span");
    bold.textContent = name || reason;
    line.append(bold);
    if (name) {
      const small = document.createElement("small");
      small.textContent = reason;
      line.append(small);
    }
    return line;
  }

  function show() {
    list.replaceChildren();
    if (!box.value.trim()) return;
    const ranked = rank(count(box.value));
    if (!ranked.length) list.append(item("", "No category fits: no word of the text belongs to any.", "nothing"));
    for (const one of ranked) {
      const line = item(data.names[one.category], REASONS[one.reason](one));
      line.dataset.reason = one.reason;
      list.append(line);
    }
  }
  box.addEventListener("input", show);

  // Boxes that filter lists: every word of the box has to be somewhere in the entry.
  for (const input of document.querySelectorAll("input[data-filter]")) {
    const entries = [...document.querySelectorAll(input.dataset.filter)];
    const texts = entries.map((entry) => (entry.dataset.find || entry.textContent).toLowerCase());
    const shown = input.closest(".controls").querySelector("[data-count]");
    const filter = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let n = 0;
      entries.forEach((entry, number) => {
        const fits = words.every((word) => texts[number].includes(word));
        entry.hidden = !fits;
        n += fits;
      });
      shown.textContent = words.length ? `${n} of ${entries.length}` : "";
    };
    input.addEventListener("input", filter);
  }
  root.dataset.ready = "true";
})();
