// Charts beside the robot: of samples as they come, or of a recording with a cursor in it.
"use strict";

const MOST_NAMES = 8; // of a legend that does not fold
const NAMES_FOLDED = 5; // that a folded one still shows
const LINE_COLORS = 8; // --line-0 ... in style.css
const SECONDS_SHOWN = 10;

function niceTicks(low, high, wanted) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
  const ticks = [];
  for (let tick = Math.ceil(low / step); tick * step <= high + 1e-9 * step; tick += 1) ticks.push(tick * step);
  return ticks.map((tick) => ({ value: tick, text: tickLabel(tick, step) }));
}

// A number with as many digits as are needed to distinguish it from its neighbours.
function tickLabel(value, step) {
  const size = Math.max(Math.abs(value), step);
  if (size >= 1e5 || size < 1e-4) return value === 0 ? "0" : value.toExponential(1);
  return value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}

function shortNumber(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(1);
  return String(Number(value.toPrecision(4)));
}

function shortName(joint) {
  return joint.replace(/_joint$/, "");
}

// Samples, the newest of them, in one block of memory.
class Samples {
  constructor(width) {
    this.width = width;
    this.most = Math.max(300, Math.min(7200, Math.floor(1e6 / width)));
    this.clear();
  }

  clear() {
    this.values = new Float32Array(this.width * 256);
    this.count = 0;
  }

  add(rows) {
    const { width } = this;
    for (let k = 0; k + width <= rows.length; k += width) {
      if (this.count && rows[k] < this.time(this.count - 1)) this.count = 0; // a new run
      if (this.count === this.most) {
        this.count -= this.most >> 2;
        this.values.copyWithin(0, (this.most >> 2) * width, this.most * width);
      }
      if ((this.count + 1) * width > this.values.length) {
        const larger = new Float32Array(Math.min(2 * this.values.length, this.most * width));
        larger.set(this.values);
        this.values = larger;
      }
      this.values.set(rows.subarray(k, k + width), this.count * width);
      this.count += 1;
    }
  }

  // Sets all samples of a recording at once.
  take(rows) {
    this.values = rows;
    this.count = this.most = rows.length / this.width;
  }

  time(k) {
    return this.values[k * this.width];
  }

  // The first sample that is not before a time.
  at(time) {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time(middle) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

class Chart {
  constructor(charts, { title, unit, names }, samples, column, open) {
    Object.assign(this, { charts, names, samples, column });
    this.details = document.createElement("details");
    this.details.open = open;
    this.details.dataset.chart = title;
    const summary = document.createElement("summary");
    summary.textContent = unit ? `${title} [${unit}]` : title;
    this.reading = document.createElement("span");
    summary.append(this.reading);
    this.canvas = document.createElement("canvas");
    this.canvas.onmousemove = (event) => { this.pointer = event.offsetX; charts.dirty = true; };
    this.canvas.onmouseleave = () => { this.pointer = null; charts.dirty = true; };
    this.details.ontoggle = () => { charts.dirty = true; };
    this.details.append(summary, this.canvas);
    if (names.length > 1) this.details.append(this.legend());
  }

  // A long legend is folded: the first names, and a button for the rest.
  legend() {
    const legend = make("div", { className: "legend" });
    const entries = this.names.map((name, k) => {
      const entry = make("span", { className: k >= LINE_COLORS ? "second" : "", textContent: shortName(name), title: "click: show this line only, or all lines again" });
      entry.style.setProperty("--line", `var(--line-${k % LINE_COLORS})`);
      entry.onclick = () => {
        this.alone = this.alone === k ? undefined : k;
        show();
        this.charts.dirty = true;
      };
      return entry;
    });
    const folds = this.names.length > MOST_NAMES;
    const rest = make("button", { className: "rest" });
    let folded = folds;
    const show = () => {
      entries.forEach((entry, k) => {
        entry.hidden = folded && k >= NAMES_FOLDED && k !== this.alone;
        entry.classList.toggle("off", this.alone !== undefined && k !== this.alone);
      });
      rest.textContent = folded ? `all ${this.names.length} names` : "fewer names";
    };
    rest.onclick = () => {
      folded = !folded;
      show();
    };
    legend.append(...entries, ...(folds ? [rest] : []));
    show();
    return legend;
  }

  lines() {
    return this.alone === undefined ? this.names.map((_, k) => k) : [this.alone];
  }

  draw(from, to, cursor) {
    const { canvas, samples } = this;
    if (!this.details.open || !samples.count) return;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const scale = window.devicePixelRatio;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    // A canvas in memory: without a graphics card, these lines would otherwise cost more than the scene.
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const style = getComputedStyle(canvas);
    const [ink, rule] = [style.getPropertyValue("--faint"), style.getPropertyValue("--rule")];
    const [first, last] = [Math.max(samples.at(from) - 1, 0), Math.min(samples.at(to) + 1, samples.count)];
    const { values, width: row } = samples;
    const stride = Math.max(1, Math.floor((last - first) / (2 * width)));
    let [low, high] = [Infinity, -Infinity];
    for (const line of this.lines()) {
      for (let k = first; k < last; k += stride) {
        const y = values[k * row + this.column + line];
        if (y < low) low = y;
        if (y > high) high = y;
      }
    }
    if (!(low <= high)) return;
    // A wider range for a constant value, so that labels are short.
    const least = Math.max(low === high ? 0.02 : 1e-3, 1e-4 * Math.max(Math.abs(low), Math.abs(high)));
    const spare = Math.max(0.06 * (high - low), (least - (high - low)) / 2);
    [low, high] = [low - spare, high + spare];
    const [left, right, top, bottom] = [44, width - 4, 8, height - 16]; // with room for labels
    const x = (time) => left + ((right - left) * (time - from)) / Math.max(to - from, 1e-9);
    const y = (value) => bottom - ((bottom - top) * (value - low)) / (high - low);
    context.font = "10px system-ui, sans-serif";
    context.fillStyle = ink;
    context.strokeStyle = rule;
    context.lineWidth = 1;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const { value, text } of niceTicks(low, high, 4)) {
      context.beginPath();
      context.moveTo(left, y(value));
      context.lineTo(right, y(value));
      context.stroke();
      context.fillText(text, left - 4, y(value));
    }
    context.textBaseline = "top";
    context.textAlign = "center";
    for (const { value, text } of niceTicks(from, to, 5)) {
      if (x(value) > left + 8 && x(value) < right - 12) context.fillText(`${text} s`, x(value), bottom + 4);
    }
    context.save();
    context.beginPath();
    context.rect(left, 0, right - left, bottom + 1);
    context.clip();
    for (const line of this.lines()) {
      context.strokeStyle = style.getPropertyValue(`--line-${line % LINE_COLORS}`);
      context.setLineDash(line >= LINE_COLORS ? [4, 3] : []);
      context.lineWidth = 1.4;
      context.beginPath();
      for (let k = first; k < last; k += stride) {
        context.lineTo(x(samples.time(k)), y(values[k * row + this.column + line]));
      }
      context.stroke();
    }
    context.restore();
    context.setLineDash([]);
    this.read(context, samples, cursor, { x, y, from, to, left, right, top, bottom, ink });
  }

  // The cursor, and the value there: of the line nearest to the pointer, or of the only one.
  read(context, samples, cursor, { x, from, to, left, right, top, bottom, ink }) {
    let time = cursor;
    if (this.pointer != null) time = from + ((to - from) * (this.pointer - left)) / (right - left);
    if (time === undefined || !samples.count) {
      this.reading.textContent = this.names.length === 1 && samples.count
        ? shortNumber(samples.values[(samples.count - 1) * samples.width + this.column]) : "";
      return;
    }
    context.strokeStyle = ink;
    context.beginPath();
    context.moveTo(x(time), top);
    context.lineTo(x(time), bottom);
    context.stroke();
    const k = Math.min(samples.at(time), samples.count - 1);
    const shown = this.lines().slice(0, 3).map((line) => {
      const value = shortNumber(samples.values[k * samples.width + this.column + line]);
      return this.names.length === 1 ? value : `${shortName(this.names[line])} ${value}`;
    });
    this.reading.textContent = this.lines().length > 3 ? "" : shown.join("  ");
    this.canvas.title = this.lines()
      .map((line) => `${this.names[line]}: ${shortNumber(samples.values[k * samples.width + this.column + line])}`)
      .join("\n");
  }
}

class Charts {
  constructor() {
    this.root = element("charts-list");
    this.list = []; // of the run
    this.signals = []; // of a script
    this.drawn = 0;
    this.dirty = true;
    element("charts-freeze").onclick = () => this.freeze(!this.frozen);
    element("charts-close").onclick = () => element("toggle-charts").click();
  }

  describe(charts) {
    this.list = [];
    this.samples = new Samples(1 + charts.reduce((sum, chart) => sum + chart.names.length, 0));
    let column = 1;
    for (const chart of charts) {
      const open = /^(energy|joint position|joint torque|contact force)$/.test(chart.title);
      this.list.push(new Chart(this, chart, this.samples, column, open));
      column += chart.names.length;
    }
    this.arrange();
  }

  // Charts that a script feeds; those that were there before keep their samples.
  describeSignals(charts) {
    const before = new Map(this.signals.map((one) => [one.id, one]));
    this.signals = charts.map((chart) => {
      const known = before.get(chart.id);
      if (known && known.details.dataset.chart === chart.title) return known;
      return Object.assign(new Chart(this, chart, new Samples(1 + chart.names.length), 1, true), { id: chart.id });
    });
    this.arrange();
  }

  // Charts of a script come first.
  arrange() {
    const all = [...this.signals, ...this.list];
    this.root.replaceChildren(...all.map((chart) => chart.details));
    const had = document.body.classList.contains("has-charts");
    document.body.classList.toggle("has-charts", all.length > 0);
    if (had !== all.length > 0) window.dispatchEvent(new Event("resize")); // they take room from the scene
    this.dirty = true;
  }

  // The index of a line in a sample, by its chart and name.
  find(title, name) {
    for (const chart of this.list) {
      const k = chart.details.dataset.chart === title ? chart.names.indexOf(name) : -1;
      if (k >= 0) return chart.column + k;
    }
    return -1;
  }

  newest(column) {
    const { samples } = this;
    return samples && samples.count && column > 0 ? samples.values[(samples.count - 1) * samples.width + column] : undefined;
  }

  // Samples of the run, 0, or of one of a script's charts.
  add(chart, rows) {
    const signal = this.signals.find((one) => one.id === chart);
    const samples = chart === 0 ? this.samples : signal && signal.samples;
    if (!samples) return;
    samples.add(rows);
    this.dirty = true;
  }

  freeze(on) {
    this.frozen = on ? this.span()[1] : undefined;
    element("charts-freeze").classList.toggle("on", Boolean(this.frozen));
    this.dirty = true;
  }

  // The times of the first and last sample: of the run, or else of a script's charts.
  span() {
    const own = this.samples && this.samples.count ? [this.samples] : this.signals.map((one) => one.samples);
    const filled = own.filter((samples) => samples.count);
    return [Math.min(...filled.map((samples) => samples.time(0))), Math.max(...filled.map((samples) => samples.time(samples.count - 1)))];
  }

  // Draws the charts, at most ten times a second, as lines are slow to draw. A cursor may mark a
  // time; the charts then show the seconds around it, or the `whole` recording.
  draw(now, cursor, whole = false) {
    if (cursor !== this.cursor) this.dirty = true;
    this.cursor = cursor;
    if (!this.dirty || now - this.drawn < 100 || !document.body.classList.contains("charts-open")) return;
    this.drawn = now;
    this.dirty = false;
    let [from, to] = this.span();
    if (!(from <= to)) return;
    if (!whole) {
      to = cursor === undefined ? this.frozen || to : Math.min(to, cursor + SECONDS_SHOWN / 2);
      from = Math.max(from, to - SECONDS_SHOWN);
    }
    for (const chart of [...this.signals, ...this.list]) chart.draw(from, Math.max(to, from + 0.1), cursor);
  }
}
