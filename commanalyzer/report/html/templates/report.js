"use strict";
// Adds to a page that is complete without it: sorting, filters, choice of a node count, what a cell is, zoom,
// what a pair of nodes sends. Asks for nothing, evaluates nothing; texts become text, never HTML.
(() => {
  const make = (name, text = "", attributes = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const button = (text, act, label = text) => {
    const made = make("button", text, { type: "button", "aria-label": label });
    made.addEventListener("click", act);
    return made;
  };
  const onKeys = (element, keys) => element.addEventListener("keydown", (event) => {
    if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key](event);
  });

  // Numbers as the page writes them: 1,234  2.56 kB  12.5 %  3 min 20 s  36.9 k
  const PREFIX = { n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };
  const UNIT = /^([numkMGTPE])?(?:s|B|B\/s|B\/flop|B\/op|Flop|Op|Flop\/s|Op\/s)?$/;
  const valueOf = (text) => {
    const found = /^\s*([+-]?[\d,]*\.?\d+(?:e[+-]?\d+)?)\s*([^\s\d,;(]*)(?:\s+(\d+) s)?/i.exec(text);
    if (!found) return NaN;
    const number = Number(found[1].replaceAll(",", ""));
    if (found[2] === "min") return 60 * number + Number(found[3] || 0);
    return number * (PREFIX[UNIT.exec(found[2])?.[1]] || 1);
  };
  const bytesText = (value) => {
    const units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    const rounded = (k) => Number((value / 1000 ** k).toPrecision(3));
    const k = units.findIndex((_, power) => rounded(power) < 1000);
    return `${rounded(k)} ${units[k]}`;
  };

  // Tables: a head that is clicked sorts (numbers largest first), once more turns it round, then as it was.
  const LEAST_FILTERED = 12; // rows
  const makeSortable = (table) => {
    const body = table.tBodies[0];
    const original = [...body.rows];
    if (original.length < 2) return;
    const heads = [...table.tHead.rows[0].cells];
    const sortBy = (head, column) => {
      const isNumber = head.classList.contains("n");
      const order = isNumber ? ["descending", "ascending", "none"] : ["ascending", "descending", "none"];
      const next = order[(order.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", next);
      const sign = next === "descending" ? -1 : 1;
      const keyed = original.map((row) => {
        const text = row.cells[column].textContent.trim();
        const value = isNumber ? valueOf(text) : 0;
        return { row, text, value: Number.isNaN(value) ? sign * Infinity : value }; // no number: last
      });
      const byText = (a, b) => a.text.localeCompare(b.text, undefined, { numeric: true });
      if (next !== "none") keyed.sort((a, b) => sign * (a.value - b.value || byText(a, b)));
      body.append(...keyed.map((item) => item.row));
    };
    heads.forEach((head, column) => {
      const sort = () => sortBy(head, column);
      head.tabIndex = 0;
      head.setAttribute("aria-sort", "none");
      head.addEventListener("click", sort);
      onKeys(head, { Enter: sort, " ": sort });
    });
    if (original.length >= LEAST_FILTERED) addFilter(table, original);
  };
  const addFilter = (table, rows) => {
    const label = make("label", "Filter ", { class: "filter" });
    const field = make("input", "", { type: "search", autocomplete: "off", spellcheck: "false" });
    const count = make("span", "", { role: "status" });
    const show = () => {
      const wanted = field.value.toLowerCase().split(/\s+/);
      const isShown = (row) => wanted.every((word) => row.textContent.toLowerCase().includes(word));
      for (const row of rows) row.hidden = !isShown(row);
      count.textContent = field.value ? ` ${rows.filter((row) => !row.hidden).length} of ${rows.length}` : "";
    };
    field.addEventListener("input", show);
    label.append(field, count);
    table.parentElement.before(label);
  };

  // Figures and numbers of one node count only.
  const addChoice = (article) => {
    const parts = [...article.querySelectorAll("[data-nodes]")];
    const counts = [...new Set(parts.map((part) => part.dataset.nodes))];
    if (counts.length < 2) return;
    const group = make("div", "", { class: "choice", role: "group", "aria-label": "Node count shown" });
    for (const chosen of ["", ...counts]) {
      const made = button(chosen ? `p = ${chosen}` : "all node counts", () => {
        for (const part of parts) part.hidden = chosen !== "" && part.dataset.nodes !== chosen;
        for (const other of group.children) other.ariaPressed = String(other === made);
      });
      group.append(made);
    }
    group.firstChild.click();
    article.querySelector("header").append(group);
  };

  // Pictures of cells: what is pointed at is told, by pointer or arrow keys; + - 0 zoom; Enter asks for a pair.
  const tip = make("div", "", { class: "tip", role: "status", hidden: "" });
  const tellMatrix = (told) => {
    const amounts = new Map(told.from.map((from, k) => [`${from} ${told.to[k]}`, told.bytes[k]]));
    const [who, causes] = [told.participant, told.causes.rows || {}];
    return (_, row, column) => {
      const sent = amounts.get(`${row} ${column}`);
      const more = causes[`${row} ${column}`] ? "; Enter or click: what" : "";
      return `from ${who} ${row} to ${who} ${column}: ${sent ? bytesText(sent) : "nothing that is listed"}${more}`;
    };
  };
  const tellMap = (told) => {
    const pictures = told.pictures.map((picture) => {
      const [rows, columns] = picture.shape;
      const owner = new Int32Array(rows * columns);
      const ends = new Map();
      for (let k = 0, at = 0; k < picture.runs.length; at += picture.runs[k + 1], k += 2) {
        owner.fill(picture.runs[k], at, at + picture.runs[k + 1]);
      }
      owner.forEach((node, at) => {
        const [row, column] = [Math.floor(at / columns), at % columns];
        const [top, bottom, left, right] = ends.get(node) || [row, row, column, column];
        ends.set(node, [top, Math.max(bottom, row), Math.min(left, column), Math.max(right, column)]);
      });
      return { owner, ends, ...picture };
    });
    return (number, row, column) => {
      const { owner, ends, step, shape, name } = pictures[number];
      const node = owner[row * shape[1] + column];
      const range = (first, last) => `${first * step} to ${(last + 1) * step - 1}`;
      const place = told.dimensions === 1 ? `[${column * step}]` : `[${row * step}][${column * step}]`;
      if (node < 0) return `${name}${place}: no value of the program`;
      const [top, bottom, left, right] = ends.get(node);
      const along = told.dimensions === 1 ? "elements" : `rows ${range(top, bottom)}, columns`;
      return `${name}${place}: node ${node}, whose part lies in ${along} ${range(left, right)}`;
    };
  };
  const tableOf = ([caption, columns], rows) => {
    const table = make("table");
    const line = (parent, cells, name) => {
      const row = parent.insertRow();
      cells.forEach((text, k) => row.append(make(name, text, columns[k][1] ? { class: "n" } : {})));
    };
    table.createCaption().textContent = caption;
    line(table.createTHead(), columns.map(([name]) => name), "th");
    const body = table.createTBody();
    for (const cells of rows) line(body, cells, "td");
    return table;
  };

  const addExploring = (figure) => {
    const told = JSON.parse(figure.querySelector("script").textContent);
    const svg = figure.querySelector("svg");
    const isMatrix = told.kind === "matrix";
    if (!isMatrix && told.pictures.some((picture) => picture.runs.length === 0)) return;
    const shapes = isMatrix ? [[told.side, told.side]] : told.pictures.map((picture) => picture.shape);
    const images = [...svg.querySelectorAll("image")].slice(0, shapes.length);
    const tell = isMatrix ? tellMatrix(told) : tellMap(told);
    const label = `${svg.querySelector("title").textContent}: arrows, +, -, 0, Enter, Escape`;
    const stage = make("div", "", { class: "stage", tabindex: "0", role: "application", "aria-label": label });
    const mark = document.createElementNS(svg.namespaceURI, "rect");
    let cell = null; // [picture, row, column]
    let scale = 1;
    const cellAt = (x, y) => {
      for (const [number, image] of images.entries()) {
        const box = image.getBoundingClientRect();
        const [rows, columns] = shapes[number];
        const row = Math.floor(((y - box.top) / box.height) * rows);
        const column = Math.floor(((x - box.left) / box.width) * columns);
        if (row >= 0 && row < rows && column >= 0 && column < columns) return [number, row, column];
      }
      return null;
    };
    const hide = () => {
      tip.hidden = true;
      mark.remove();
    };
    const point = (at, isFollowed = false) => {
      hide();
      if (!at) return;
      cell = at; // kept when the pointer leaves: the buttons enlarge there
      const [number, row, column] = at;
      const image = images[number];
      const [rows, columns] = shapes[number];
      const [width, height] = [image.getAttribute("width") / columns, image.getAttribute("height") / rows];
      const place = { x: image.getAttribute("x") - -column * width, y: image.getAttribute("y") - -row * height };
      const drawn = { class: "cell", transform: image.getAttribute("transform") || "", width, height, ...place };
      for (const [key, value] of Object.entries(drawn)) mark.setAttribute(key, value);
      image.parentNode.append(mark);
      if (isFollowed) mark.scrollIntoView({ behavior: "instant", block: "nearest", inline: "nearest" });
      tip.textContent = tell(...at);
      tip.hidden = false;
      const box = mark.getBoundingClientRect();
      const right = document.documentElement.clientWidth - tip.offsetWidth - 4;
      const isLow = box.bottom + 8 + tip.offsetHeight > window.innerHeight;
      tip.style.left = `${Math.max(4, Math.min(box.left, right))}px`;
      tip.style.top = `${isLow ? box.top - 8 - tip.offsetHeight : box.bottom + 8}px`;
    };
    const zoom = (factor) => {
      const height = stage.clientHeight;
      scale = Math.max(1, Math.min(16, scale * factor));
      svg.style.width = `${100 * scale}%`;
      stage.style.height = scale > 1 ? `${height}px` : "";
      point(cell);
      const [seen, box] = [stage, cell ? mark : images[0]].map((element) => element.getBoundingClientRect());
      const middle = [box.left + box.width / 2 - seen.left, box.top + box.height / 2 - seen.top];
      stage.scrollBy({ behavior: "instant", left: middle[0] - seen.width / 2, top: middle[1] - seen.height / 2 });
      point(cell);
    };
    const step = (down, right) => () => {
      const [number, row, column] = cell || [0, -down, -right];
      const within = (value, count) => Math.max(0, Math.min(value, count - 1));
      point([number, within(row + down, shapes[number][0]), within(column + right, shapes[number][1])], true);
    };
    const panel = make("div", "", { class: "pair scroll", "aria-live": "polite" });
    const explain = () => {
      if (!isMatrix || !cell) return;
      const rows = (told.causes.rows || {})[`${cell[1]} ${cell[2]}`] || [];
      const why = rows.length ? "" : " Variables and lines are here for the pairs that send most: see commanalyzer why.";
      const parts = rows.map((part, k) => tableOf(told.causes.tables[k], part));
      panel.replaceChildren(make("p", `${tell(...cell).split(";")[0]}.${why}`), ...parts);
    };
    svg.addEventListener("pointermove", (event) => point(cellAt(event.clientX, event.clientY)));
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("click", (event) => {
      const at = cellAt(event.clientX, event.clientY);
      point(at);
      if (at) explain();
    });
    const [closer, further, whole] = [2, 0.5, 1 / 16].map((factor) => () => zoom(factor));
    svg.addEventListener("dblclick", closer);
    const arrows = { ArrowUp: step(-1, 0), ArrowDown: step(1, 0), ArrowLeft: step(0, -1), ArrowRight: step(0, 1) };
    onKeys(stage, { ...arrows, Enter: explain, Escape: hide, "+": closer, "=": closer, "-": further, 0: whole });
    stage.addEventListener("blur", hide);
    const tools = make("div", "", { class: "tools" });
    tools.append(button("+", closer, "zoom in"), button("−", further, "zoom out"), button("whole", whole));
    svg.before(stage);
    stage.append(svg);
    stage.after(tools);
    panel.dataset.nodes = figure.parentElement.dataset.nodes;
    figure.parentElement.after(panel);
  };

  document.body.append(tip);
  document.querySelectorAll(".scroll > table:not(.code)").forEach(makeSortable);
  document.querySelectorAll("figure").forEach((figure) => figure.querySelector("script") && addExploring(figure));
  document.querySelectorAll("article").forEach(addChoice);
})();
