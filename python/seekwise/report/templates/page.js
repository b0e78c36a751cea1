// Makes a page that is complete without it pleasant: sorts and downloads tables, hides lines, shows values at the pointer or by
// arrow keys. Reads only what stands in the page; makes no request.
"use strict";
document.documentElement.classList.add("scripted");
const $ = (selector, root = document) => Array.from(root.querySelectorAll(selector));

// Tables -------------------------------------------------------------------------------------------------------------------------
function cellValue(cell) {
  if (!cell) return "";
  if (cell.dataset.v !== undefined) return cell.dataset.v === "" ? "" : Number(cell.dataset.v);
  const text = cell.textContent.trim();
  return cell.classList.contains("n") && text !== "" && !isNaN(Number(text)) ? Number(text) : text === "–" ? "" : text;
}
function sortTable(table, column, head) {
  const up = head.getAttribute("aria-sort") !== "ascending";
  $("th", table.tHead).forEach((each) => each.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows).map((row) => [Number(row.cells[column]?.dataset.order ?? NaN) || cellValue(row.cells[column]), row]);
  rows.sort(([a], [b]) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
    return up ? order : -order;
  });
  rows.forEach(([, row]) => body.append(row));
}
function tableData(table) {
  const heads = Array.from(table.tHead.rows[0].cells).map((cell) => cell.textContent.trim());
  const rows = Array.from(table.tBodies[0].rows).map((row) => Array.from(row.cells).map((cell) => cellValue(cell)));
  return [heads, rows];
}
function save(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
function csv(heads, rows) {
  const quoted = (value) => {
    const text = String(value ?? "");
    // A spreadsheet would run a text that begins like a formula.
    const plain = typeof value !== "number" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(plain) ? `"${plain.replace(/"/g, '""')}"` : plain;
  };
  return [heads, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}
function equip(table) {
  if (table.dataset.ready) return;
  table.dataset.ready = "1";
  Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...Array.from(head.childNodes));
    if (!button.textContent.trim()) button.setAttribute("aria-label", `Sort by column ${column + 1}`);
    head.append(button);
    button.addEventListener("click", () => sortTable(table, column, head));
  });
  const tools = document.createElement("div");
  tools.className = "tools only-script";
  const name = `${document.body.dataset.run || "seekwise"}-${table.dataset.name}`;
  for (const [word, kind, make] of [
    ["CSV", "text/csv", (heads, rows) => csv(heads, rows)],
    ["JSON", "application/json", (heads, rows) => JSON.stringify(rows.map((row) => Object.fromEntries(heads.map((head, at) => [head, row[at] === "" ? null : row[at]]))), null, 1)],
  ]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `Download ${word}`;
    button.setAttribute("aria-label", `Download ${word} of table ${table.dataset.name}`);
    button.addEventListener("click", () => save(`${name}.${word.toLowerCase()}`, kind, make(...tableData(table))));
    tools.append(button);
  }
  (table.closest(".wide") || table).before(tools);
}
$("table.data").forEach(equip);
function reachable() {
  // What scrolls sideways must be scrollable by keyboard.
  $(".wide, .sheet").forEach((box) => {
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  });
}
reachable();
addEventListener("resize", reachable);
document.addEventListener("toggle", reachable, true);

// Legends ------------------------------------------------------------------------------------------------------------------------
document.addEventListener("click", (event) => {
  const key = event.target.closest(".key[data-s]");
  if (!key) return;
  const on = key.getAttribute("aria-pressed") !== "true";
  key.setAttribute("aria-pressed", String(on));
  $(`.series.${key.dataset.s}`, key.closest("figure")).forEach((line) => line.classList.toggle("off", !on));
});

// Values at the pointer, or by the arrow keys ----------------------------------------------------------------------------------------
// A chart is any svg that can be focused. Its values stand in `data-t` of its marks, or as [x, y, words] in `data-tips`, x in thousandths of
// the width and y in pixels.
const CHART = "svg.xy, svg.tips";
const tip = document.createElement("div");
tip.className = "tip";
tip.setAttribute("role", "status");
tip.hidden = true;
document.body.append(tip);
const read = new WeakMap();
function values(chart) {
  if (chart.dataset.tips) {
    if (!read.has(chart)) read.set(chart, JSON.parse(chart.dataset.tips));
    return read.get(chart);
  }
  return $("[data-t]", chart).filter((mark) => !mark.closest(".series.off"));
}
function placeOf(chart, value, frame) {
  if (Array.isArray(value)) return [frame.left + (value[0] / 1000) * frame.width, frame.top + value[1]];
  const box = value.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
}
function words(chart, value) {
  if (Array.isArray(value)) return value[2];
  const series = value.closest(".series");
  const key = series && $(".key", chart.closest("figure")).find((each) => series.classList.contains(each.dataset.s));
  return `${key ? `${key.textContent}: ` : ""}${value.dataset.t}`;
}
function show(chart, number) {
  const value = values(chart)[number];
  if (!value) return;
  const frame = chart.getBoundingClientRect();
  const [x, y] = placeOf(chart, value, frame);
  tip.textContent = words(chart, value);
  tip.hidden = false;
  const left = Math.min(Math.max(x + scrollX - tip.offsetWidth / 2, scrollX + 4), scrollX + document.documentElement.clientWidth - tip.offsetWidth - 4);
  const above = y + scrollY - tip.offsetHeight - 12;
  tip.style.left = `${left}px`;
  tip.style.top = `${above < scrollY ? y + scrollY + 14 : above}px`;
  $(".aim").forEach((line) => line.remove());
  const aim = document.createElementNS("http://www.w3.org/2000/svg", "g");
  aim.setAttribute("class", "aim");
  for (const [x1, x2, y1, y2] of [[x, x, frame.top, frame.bottom], [frame.left, frame.right, y, y]]) {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    for (const [name, at] of [["x1", x1 - frame.left], ["x2", x2 - frame.left], ["y1", y1 - frame.top], ["y2", y2 - frame.top]]) line.setAttribute(name, at);
    aim.append(line);
  }
  chart.append(aim);
  chart.dataset.at = String(number);
}
function hide() {
  tip.hidden = true;
  $(".aim").forEach((line) => line.remove());
}
document.addEventListener("pointermove", (event) => {
  const chart = event.target.closest && event.target.closest(CHART);
  if (!chart) return document.activeElement.matches(CHART) ? undefined : hide();
  const frame = chart.getBoundingClientRect();
  let best = -1;
  let least = Infinity;
  values(chart).forEach((value, number) => {
    const [x, y] = placeOf(chart, value, frame);
    const far = Math.hypot(x - event.clientX, (y - event.clientY) / 2);
    if (far < least) [best, least] = [number, far];
  });
  if (best >= 0) show(chart, best);
});
document.addEventListener("focusin", (event) => {
  if (event.target.matches && event.target.matches(CHART)) show(event.target, Number(event.target.dataset.at) || 0);
});
document.addEventListener("focusout", hide);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") return hide();
  const chart = event.target.matches && event.target.matches(CHART) ? event.target : null;
  if (!chart) return;
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const count = values(chart).length;
  const now = Number(chart.dataset.at) || 0;
  if (count && (step || event.key === "Home" || event.key === "End")) {
    event.preventDefault();
    show(chart, step ? (now + step + count) % count : event.key === "Home" ? 0 : count - 1);
  }
  if (step && count < 2 && chart.matches(".loss")) {
    // Pictures of one value follow each other like the values of a chart.
    const all = $("svg.loss.tips", chart.closest("section, table, main") || document).filter((each) => each.checkVisibility());
    all[(all.indexOf(chart) + step + all.length) % all.length].focus();
  }
  else if (event.key === "l" && chart.dataset.scale) turnScale(chart.closest("figure"));
});

// Linear or logarithmic axis of a chart that stands in the page ---------------------------------------------------------------------
const TOP = 8, HEIGHT = 150;
function turnScale(figure) {
  const on = figure.dataset.turned !== "1";
  figure.dataset.turned = on ? "1" : "";
  $("svg[data-scale]", figure).forEach((chart) => (on ? turn(chart) : turnBack(chart)));
  $("button.scale", figure).forEach((button) => { button.textContent = button.dataset.words.split(",")[Number(on)]; });
  hide();
}
const before = new WeakMap();
function turn(chart) {
  const plot = chart.closest(".plot");
  const title = plot.previousElementSibling;
  before.set(chart, [...plot.children, ...(title ? [title] : [])].map((each) => Array.from(each.cloneNode(true).childNodes)));
  const [low, high] = chart.dataset.scale.split(",").map(Number);
  const wasLog = low > 0;
  const share = (y) => 1 - (Number(y) - TOP) / HEIGHT;
  const valueAt = (y) => (wasLog ? low * (high / low) ** share(y) : high * share(y));
  const known = $("use", chart).map((mark) => valueAt(mark.getAttribute("y"))).filter((value) => value > 0);
  if (!known.length) return;
  const most = Math.max(...known);
  const bottom = wasLog ? 0 : 10 ** Math.floor(Math.log10(Math.min(...known)) + 1e-9);
  const top = wasLog ? 1.04 * most : Math.max(10 ** Math.ceil(Math.log10(most) - 1e-9), 10 * bottom);
  const place = (value) => TOP + HEIGHT * (1 - Math.min(Math.max(bottom ? Math.log10(Math.max(value, bottom) / bottom) / Math.log10(top / bottom) : value / top, 0), 1));
  const moved = (y) => place(valueAt(y)).toFixed(1);
  $(".series use, .series > svg[y]", chart).forEach((mark) => mark.setAttribute("y", moved(mark.getAttribute("y"))));
  $(".series > line", chart).forEach((line) => ["y1", "y2"].forEach((name) => line.setAttribute(name, moved(line.getAttribute(name)))));
  $(".series path.curve", chart).forEach((path) => path.setAttribute("d", path.getAttribute("d").replace(/([ML])([\d.]+) ([\d.-]+)/g, (_, step, x, y) => `${step}${x} ${moved(y)}`)));
  $(".grid", chart).forEach((line) => line.remove());
  if (title) {
    $("small", title).forEach((each) => each.remove());
    if (bottom) title.append(" ", element("small", {}, "logarithmic axis"));
  }
  const axis = $(".yaxis", plot)[0];
  axis.replaceChildren();
  for (const value of ticks(bottom, top)) {
    axis.append(make("text", { x: 48, y: place(value) + 4, "text-anchor": "end" }, short(value)));
    chart.prepend(make("line", { class: "grid", x1: 0, x2: "100%", y1: place(value), y2: place(value) }));
  }
}
function turnBack(chart) {
  const plot = chart.closest(".plot");
  const title = plot.previousElementSibling;
  [...plot.children, ...(title ? [title] : [])].forEach((each, number) => each.replaceChildren(...before.get(chart)[number]));
}
function ticks(bottom, top) {
  const marks = [];
  if (bottom) for (let power = Math.log10(bottom); power <= Math.log10(top) + 1e-9; power += Math.max(1, Math.round(Math.log10(top / bottom) / 4))) marks.push(10 ** power);
  else {
    const power = 10 ** Math.floor(Math.log10(top / 4));
    const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= top / 4 * 0.999);
    for (let each = 0; each <= top; each += step) marks.push(Number(each.toPrecision(12)));
  }
  return marks;
}
$("figure.chart").forEach((figure) => {
  if (!figure.querySelector("svg[data-scale]")) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "scale";
  const isLog = figure.querySelector(".panel h4 small") !== null;
  button.dataset.words = isLog ? "Linear axis (l),Logarithmic axis (l)" : "Logarithmic axis (l),Linear axis (l)";
  button.textContent = button.dataset.words.split(",")[0];
  button.addEventListener("click", (event) => { event.stopPropagation(); turnScale(figure); });
  // Beside the keys of the legend, or where they would stand.
  let row = figure.querySelector(".legend");
  if (!row) {
    row = document.createElement("div");
    figure.querySelector(".panels").before(row);
  }
  row.classList.add("legend");
  row.append(button);
});

// Printing shows everything --------------------------------------------------------------------------------------------------------
addEventListener("beforeprint", () => $("details:not([open])").forEach((each) => { each.open = true; each.dataset.shut = "1"; }));
addEventListener("afterprint", () => $("details[data-shut]").forEach((each) => { each.open = false; delete each.dataset.shut; }));

// What is built in the browser -------------------------------------------------------------------------------------------------------
const SVG = "http://www.w3.org/2000/svg";
function make(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
function element(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
function short(value) {
  if (value >= 1e6) return `${value / 1e6}M`;
  return value >= 1e4 ? `${value / 1e3}k` : String(Number(value.toPrecision(4)));
}
function three(value) {
  return value === null ? "–" : value >= 1000 ? String(Math.round(Number(value.toPrecision(3)))) : String(Number(value.toPrecision(3)));
}
const source = document.getElementById("rows");
if (source) {
  const table = JSON.parse(source.textContent);
  // A table of thousands of rows is made when it is opened.
  const late = document.getElementById("numbers");
  if (late && late.dataset.late) {
    late.closest("details").addEventListener("toggle", () => {
      if (late.tBodies[0].rows.length) return;
      const nPlace = table.factors.length;
      const body = document.createDocumentFragment();
      for (const row of table.rows) {
        const line = element("tr", {});
        table.factors.forEach((levels, place) => line.append(element("td", {}, levels[row[place]])));
        line.append(element("td", { class: "n" }, String(row[nPlace])));
        row.slice(nPlace + 1).forEach((value) => line.append(element("td", { class: "n", "data-v": value ?? "" }, three(value))));
        body.append(line);
      }
      late.tBodies[0].append(body);
    });
  }
}
