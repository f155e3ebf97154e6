// The panel at the side: what can be done with the run, the robot and the picture.
"use strict";

const LAYER_NAMES = {
  visual: ["visual geometry", "v"],
  collision: ["collision geometry", "k"],
  contacts: ["contact points", "o"],
  forces: ["contact forces", "f"],
  inertia: ["inertia ellipsoids", "i"],
  axes: ["joint axes", "j"],
  frames: ["body frames", "b"],
  com: ["centre of mass, support", "m"],
  trails: ["trails", "l"],
  violation: ["joint violation", "x"],
  names: ["names", "n"],
  ground: ["ground", "g"],
  shadows: ["shadows", "d"],
};

const HELP = [
  ["space", "play or pause"], [".", "one step (shift: ten)"], ["r", "start again"], ["+ -", "faster, slower"],
  ["c", "charts"], ["p", "panel"], ["t", "light or dark"], ["home", "camera as at the start"], ["s", "save a picture"],
  ["y", "all objects, a tree of meshcat's"], ["? or h", "this help"],
];
const SLOW = 100; // [ms] from one frame to the next

const MOUSE = [
  ["drag on the robot", "pull it with a spring"], ["drag beside it, or shift", "turn the camera"],
  ["wheel", "nearer, farther"], ["right button", "move the camera"],
];

function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

class Panel {
  constructor(stage, layers, send) {
    Object.assign(this, { stage, layers, send });
    this.joints = [];
    this.keys = {};
    this.waiting = {};
    this.bindPage();
    this.fillHelp();
  }

  // ---- what every page has --------------------------------------------------------------

  bindPage() {
    const { body } = document;
    const toggle = (name) => {
      body.classList.toggle(name);
      remember(name, body.classList.contains(name));
      window.dispatchEvent(new Event("resize"));
    };
    const theme = () => {
      const root = document.documentElement;
      root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
      remember("theme", root.dataset.theme);
      this.stage.setTheme(root.dataset.theme);
    };
    const help = () => element("help").classList.toggle("open");
    const camera = () => this.stage.placed && this.stage.resetCamera();
    const objects = () => {
      const { style } = this.stage.viewer.gui.domElement;
      style.display = style.display === "none" ? "" : "none";
    };
    element("toggle-panel").onclick = () => toggle("panel-open");
    element("toggle-charts").onclick = () => toggle("charts-open");
    element("toggle-theme").onclick = theme;
    element("toggle-help").onclick = help;
    element("help").onclick = help;
    element("reset-camera").onclick = camera;
    element("toast").onclick = () => this.complain("");
    element("save-picture").onclick = () => this.stage.picture();
    element("follow").onchange = (event) => { this.stage.follow = event.target.checked; };
    element("detail").onchange = (event) => {
      remember("detail", event.target.checked);
      this.setDetail(event.target.checked);
    };
    if (remembered("detail", true) === false) this.setDetail(false);
    this.on({
      p: () => toggle("panel-open"), c: () => toggle("charts-open"), t: theme, h: help, "?": help, Home: camera,
      s: () => this.stage.picture(), y: objects, Escape: () => element("help").classList.remove("open"),
    });
    window.addEventListener("keydown", (event) => {
      const typing = /^(SELECT|TEXTAREA)$/.test(event.target.tagName)
        || (event.target.tagName === "INPUT" && /^(text|number)$/.test(event.target.type));
      const action = this.keys[event.key] || this.keys[event.key.toLowerCase()];
      if (typing || event.ctrlKey || event.metaKey || event.altKey || !action) return;
      event.preventDefault();
      action(event);
    });
    for (const button of document.querySelectorAll("button")) {
      button.addEventListener("click", () => button.blur()); // so that space is not another click
    }
  }

  on(keys) {
    Object.assign(this.keys, keys);
  }

  fillHelp() {
    const table = (rows) => make("table", {}, ...rows.map(([key, what]) => make("tr", {}, make("td", {}, make("kbd", { textContent: key })), make("td", { textContent: what }))));
    const layers = Object.values(LAYER_NAMES).map(([name, key]) => [key, name]);
    element("help-tables").append(table(HELP), table(layers), table(MOUSE));
  }

  loadLayers(scene) {
    const shown = { ...scene.layers, ...this.chosen };
    const boxes = {};
    const rows = Object.entries(LAYER_NAMES).filter(([name]) => name in scene.layers).map(([name, [title, key]]) => {
      boxes[name] = make("input", { type: "checkbox", checked: shown[name], id: `layer-${name}` });
      boxes[name].onchange = () => this.switchLayers({ [name]: boxes[name].checked });
      this.on({ [key]: () => boxes[name].click() });
      return make("label", { title: `key: ${key}` }, boxes[name], title);
    });
    this.boxes = boxes;
    element("layers").replaceChildren(...rows);
    element("follow").parentElement.hidden = !scene.follow;
    this.layers.switch(shown);
  }

  switchLayers(shown) {
    this.chosen = { ...this.chosen, ...shown };
    for (const [name, on] of Object.entries(shown)) {
      if (this.boxes && this.boxes[name]) this.boxes[name].checked = on;
    }
    this.layers.switch(shown);
  }

  setDetail(full) {
    element("detail").checked = full;
    this.stage.setDetail(full);
    this.layers.switch({});
  }

  // Where drawing is slow, as without a graphics card, less of it; unless someone has chosen.
  watch(milliseconds) {
    if (remembered("detail", null) !== null || !this.stage.detailed) return;
    this.times = [...(this.times || []).slice(-19), milliseconds];
    const slow = this.times.filter((time) => time > SLOW).length;
    if (this.times.length === 20 && slow > 15) this.setDetail(false);
  }

  // ---- what only a live page has --------------------------------------------------------

  describe(offered, charts) {
    this.offered = offered;
    this.charts = charts;
    const { body } = document;
    body.classList.add("steered");
    body.classList.toggle("one-run", !offered.poses);
    this.bindRun();
    const select = (id, names) => element(id).replaceChildren(...names.map((name) => make("option", { value: name, textContent: name })));
    select("controller", offered.controllers);
    element("controller").onchange = (event) => this.send({ do: "controller", name: event.target.value });
    select("configuration", ["...", ...offered.configurations]);
    element("configuration").onchange = (event) => {
      if (event.target.selectedIndex) this.send({ do: "configuration", name: event.target.value });
      event.target.selectedIndex = 0;
    };
    element("timestep-row").hidden = !offered.timesteps;
    element("restart").onclick = () => {
      const timestep = element("timestep");
      // What is out of its bounds is told beside it.
      if (timestep.reportValidity()) this.send({ do: "timestep", value: Number(timestep.value) / 1000 });
    };
    this.joints = offered.joints.map((joint, index) => this.buildJoint(joint, index));
    element("joints").replaceChildren(...this.joints.map((joint) => joint.row));
    // Long names take room from the sliders: they often differ in their last letters only.
    const letters = Math.max(0, ...offered.joints.map((joint) => shortName(joint.name).length));
    element("joints").style.setProperty("--name", `${Math.min(Math.max(78, 7.4 * letters), 120)}px`);
    element("joints-section").hidden = !this.joints.length;
  }

  bindRun() {
    const play = () => this.send({ do: this.status && this.status.paused ? "play" : "pause" });
    const step = (event) => this.send({ do: "step", count: event.shiftKey ? 10 : 1 });
    const reset = () => this.offered.poses && this.send({ do: "reset" });
    const speed = element("speed");
    const [slow, fast] = this.offered.speeds.map(Math.log10);
    [speed.min, speed.max, speed.step] = [slow, fast, "any"];
    const setSpeed = (value) => this.later("speed", { do: "speed", value: Number(Math.min(Math.max(value, 10 ** slow), 10 ** fast).toPrecision(3)) });
    // It catches at one: real time is what one comes back to.
    speed.oninput = () => setSpeed(Math.abs(speed.value) < 0.06 ? 1 : 10 ** speed.value);
    element("play").onclick = play;
    element("step").onclick = step;
    element("reset").onclick = reset;
    this.on({
      " ": play, ".": step, ">": step, r: reset,
      "+": () => setSpeed((this.status.speed || 1) * 1.5), "=": () => setSpeed((this.status.speed || 1) * 1.5),
      "-": () => setSpeed((this.status.speed || 1) / 1.5),
    });
  }

  buildJoint(joint, index) {
    const slider = make("input", {
      type: "range", min: joint.lower, max: joint.upper, step: "any", value: joint.home, id: `joint-${index}`,
    });
    const shown = make("output", {});
    slider.oninput = () => {
      slider.held = performance.now();
      shown.textContent = shortAngle(Number(slider.value));
      this.later(`joint ${index}`, { do: "joint", index, value: Number(slider.value) });
    };
    const limits = joint.limited ? `${shortAngle(joint.lower)} to ${shortAngle(joint.upper)} ${joint.unit}` : `no limits, ${joint.unit}`;
    const row = make("div", { className: "joint", title: `${joint.name}: ${limits}` },
      make("span", { textContent: shortName(joint.name) }), slider, shown, make("i", { textContent: joint.unit }));
    return { ...joint, row, slider, shown, column: this.charts.find("joint position", joint.name) };
  }

  tell(status) {
    this.status = status;
    document.body.classList.toggle("paused", status.paused);
    element("play").title = status.paused ? "play (space)" : "pause (space)";
    if (status.speed && document.activeElement !== element("speed")) element("speed").value = Math.log10(status.speed);
    element("speed-shown").textContent = status.speed ? `${Number(status.speed.toPrecision(2))} x` : "as fast as it can";
    element("controller").value = status.controller;
    if (document.activeElement !== element("timestep")) element("timestep").value = Number((1000 * status.timestep).toPrecision(4));
    this.complain(status.error);
    this.joints.forEach((joint, k) => {
      const target = status.targets[k];
      const posing = status.paused && this.offered.poses;
      joint.slider.disabled = !posing && target === null;
      joint.aimed = !posing && target !== null;
      joint.row.classList.toggle("aimed", joint.aimed);
      if (!joint.slider.held || performance.now() - joint.slider.held > 600) joint.slider.value = joint.aimed ? target : status.q[k];
      if (posing) joint.shown.textContent = shortAngle(status.q[k]);
    });
    const hint = status.paused && this.offered.poses ? "the pose" : this.joints.some((joint) => joint.aimed) ? "targets of the controller" : "as they are";
    element("joints-hint").textContent = hint;
  }

  // Joints as they move, where their sliders do not say so already.
  follow() {
    if (!this.status || this.status.paused) return;
    for (const joint of this.joints) {
      const value = this.charts.newest(joint.column);
      if (value === undefined) continue;
      joint.shown.textContent = shortAngle(value);
      if (!joint.aimed) joint.slider.value = value;
    }
  }

  complain(text) {
    element("toast").textContent = text;
    element("toast").classList.toggle("open", Boolean(text));
  }

  // The newest of messages that come in floods, sent with the next frame.
  later(name, message) {
    this.waiting[name] = message;
  }

  flush() {
    for (const message of Object.values(this.waiting)) this.send(message);
    this.waiting = {};
  }
}

function shortAngle(value) {
  return value.toFixed(Math.abs(value) < 100 ? 2 : 0);
}

// Settings of the page that last; a page from disk may not be allowed to keep any.
function remember(name, value) {
  try {
    localStorage.setItem(`robosim ${name}`, JSON.stringify(value));
  } catch { /* then they do not last */ }
}

function remembered(name, otherwise) {
  try {
    const value = JSON.parse(localStorage.getItem(`robosim ${name}`));
    return value === null ? otherwise : value;
  } catch {
    return otherwise;
  }
}

function dressPage() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const asked = new URLSearchParams(location.search).get("theme");
  document.documentElement.dataset.theme = asked === "dark" || asked === "light" ? asked : remembered("theme", dark ? "dark" : "light");
  const wide = window.innerWidth > 900;
  document.body.classList.toggle("panel-open", remembered("panel-open", wide));
  document.body.classList.toggle("charts-open", remembered("charts-open", window.innerWidth > 1200));
}
