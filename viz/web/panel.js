// The panel at the side: controls of the run, the robot and the picture.
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
  ["space", "play or pause"], [".", "one time step (shift: ten)"], ["r", "restart"], ["+ -", "faster, slower"],
  ["c", "charts"], ["p", "panel"], ["t", "light or dark"], ["home", "reset the camera"], ["s", "save a picture"],
  ["y", "tree of all objects (meshcat's)"], ["? or h", "this help"],
];
const PHONE = "(max-width: 700px)"; // as in style.css
const [SIDE, NARROW] = [268, 78]; // pixels of the panel and of the names in it, as in style.css
const HELD = 600; // [ms] for which a slider that was moved ignores values from the run
const SLOW = 100; // [ms] from one frame to the next

const MOUSE = [
  ["drag on the robot", "pull it with a spring"], ["click on a body", "its mass, pose, velocity, contacts"], ["drag elsewhere, or shift", "turn the camera"],
  ["wheel", "zoom"], ["drag, right button", "move the camera"],
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
      // On a phone there is room for one of the two only.
      const other = name === "panel-open" ? "charts-open" : "panel-open";
      if (window.matchMedia(PHONE).matches) {
        body.classList.remove(other);
        element("card-close").click();
      }
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
      s: () => this.stage.picture(), y: objects, Escape: () => {
        element("help").classList.remove("open");
        element("card-close").click();
      },
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
      button.addEventListener("click", () => button.blur()); // or the space key would click it again
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

  // Reduces the detail where drawing is slow, as without a graphics card, unless the user has chosen.
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
      // The browser shows a message if the value is out of bounds.
      if (timestep.reportValidity()) this.send({ do: "timestep", value: Number(timestep.value) / 1000 });
    };
    this.torques = offered.torques.map((torque, index) => this.buildTorque(torque, index));
    element("torques").replaceChildren(...this.torques.map(({ row }) => row));
    element("relax").onclick = () => this.send({ do: "relax" });
    this.joints = offered.joints.map((joint, index) => this.buildJoint(joint, index));
    element("joints").replaceChildren(...this.joints.map((joint) => joint.row));
    const names = Math.max(fitNames("joints", offered.joints), fitNames("torques", offered.torques));
    // Sliders keep their length beside long names.
    document.documentElement.style.setProperty("--side", `${SIDE + names - NARROW}px`);
    window.dispatchEvent(new Event("resize"));
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
    // The slider snaps to 1, which is real time.
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

  // A row with a slider, which sends a message when it is moved.
  buildSlider({ id, name, hint, unit, low, high, value }, message) {
    const slider = make("input", { type: "range", min: low, max: high, step: "any", value, id });
    slider.value = value; // after min and max, which would clip it
    const shown = make("output", { textContent: shortAngle(value) });
    slider.oninput = () => {
      slider.held = performance.now();
      shown.textContent = shortAngle(Number(slider.value));
      this.later(id, message(Number(slider.value)));
    };
    const row = make("div", { className: "joint", title: hint }, make("span", { textContent: name }), slider, shown, make("i", { textContent: unit }));
    return { row, slider, shown };
  }

  buildTorque({ name, unit, reach, limited }, index) {
    const hint = `${name}: ${limited ? "effort limit" : "no effort limit; up to"} ${shortNumber(reach)} ${unit}`;
    return this.buildSlider({ id: `torque-${index}`, name: shortName(name), hint, unit, low: -reach, high: reach, value: 0 },
      (value) => ({ do: "torque", index, value }));
  }

  // Sliders and buttons of a script; a slider that the user holds keeps its value.
  describeControls(controls) {
    const key = JSON.stringify(controls.map((control) => ({ ...control, value: 0 })));
    if (key !== this.controlsKey) {
      this.controlsKey = key;
      this.controls = controls.map((control, k) => {
        const { name } = control;
        if (control.kind === "button") {
          const button = make("button", { className: "text", textContent: name, id: `control-${k}` });
          button.onclick = () => { this.send({ do: "press", name }); button.blur(); };
          return { row: button };
        }
        return this.buildSlider({ ...control, id: `control-${k}`, hint: `${name}: ${shortNumber(control.low)} to ${shortNumber(control.high)} ${control.unit}` },
          (value) => ({ do: "slider", name, value }));
      });
      const of = (kind) => this.controls.filter((_, k) => controls[k].kind === kind).map(({ row }) => row);
      element("controls").replaceChildren(...of("slider"), make("div", { className: "buttons" }, ...of("button")));
      fitNames("controls", controls.filter(({ kind }) => kind === "slider"));
      element("controls-section").hidden = !controls.length;
    }
    this.toldControls = controls;
    controls.forEach(({ value }, k) => {
      const { slider, shown } = this.controls[k];
      if (slider && this.isFree(slider)) [slider.value, shown.textContent] = [value, shortAngle(value)];
    });
  }

  buildJoint(joint, index) {
    const limits = joint.limited ? `${shortAngle(joint.lower)} to ${shortAngle(joint.upper)} ${joint.unit}` : `no limits, ${joint.unit}`;
    const built = this.buildSlider(
      { id: `joint-${index}`, name: shortName(joint.name), hint: `${joint.name}: ${limits}`, unit: joint.unit, low: joint.lower, high: joint.upper, value: joint.home },
      (value) => ({ do: "joint", index, value }));
    return { ...joint, ...built, column: this.charts.find("joint position", joint.name) };
  }

  tell(status) {
    this.status = status;
    document.body.classList.toggle("paused", status.paused);
    element("play").title = status.paused ? "play (space)" : "pause (space)";
    if (status.speed && document.activeElement !== element("speed")) element("speed").value = Math.log10(status.speed);
    element("speed-shown").textContent = status.speed ? `${Number(status.speed.toPrecision(2))} x` : "as fast as possible";
    element("controller").value = status.controller;
    if (document.activeElement !== element("timestep")) element("timestep").value = Number((1000 * status.timestep).toPrecision(4));
    this.complain(status.error);
    this.joints.forEach((joint, k) => {
      const target = status.targets[k];
      const posing = status.paused && this.offered.poses;
      joint.slider.disabled = !posing && target === null;
      joint.aimed = !posing && target !== null;
      joint.row.classList.toggle("aimed", joint.aimed);
      if (this.isFree(joint.slider)) joint.slider.value = joint.aimed ? target : status.q[k];
      if (posing) joint.shown.textContent = shortAngle(status.q[k]);
    });
    element("torques-section").hidden = !status.torques;
    this.torques.forEach(({ slider, shown }, k) => {
      if (status.torques && this.isFree(slider)) [slider.value, shown.textContent] = [status.torques[k], shortAngle(status.torques[k])];
    });
    const hint = status.paused && this.offered.poses ? "pose" : this.joints.some((joint) => joint.aimed) ? "targets of the controller" : "positions";
    element("joints-hint").textContent = hint;
  }

  // Shows the present joint positions, unless the sliders show targets.
  follow() {
    if (!this.status || this.status.paused) return;
    for (const joint of this.joints) {
      const value = this.charts.newest(joint.column);
      if (value === undefined) continue;
      joint.shown.textContent = shortAngle(value);
      if (!joint.aimed) joint.slider.value = value;
    }
  }

  // False while a slider is being moved, and shortly after; the status is then shown again later.
  isFree(slider) {
    if (!slider.held || performance.now() - slider.held > HELD) return true;
    this.retell = performance.now() + HELD;
    return false;
  }

  complain(text) {
    element("toast").textContent = text;
    element("toast").classList.toggle("open", Boolean(text));
  }

  // For messages that come often: only the newest is sent, with the next frame.
  later(name, message) {
    this.waiting[name] = message;
  }

  flush() {
    if (this.retell && performance.now() > this.retell) {
      this.retell = null;
      if (this.status) this.tell(this.status);
      if (this.toldControls) this.describeControls(this.toldControls);
    }
    for (const message of Object.values(this.waiting)) this.send(message);
    this.waiting = {};
  }
}

// Wider columns for long names, which often differ in their last letters only.
function fitNames(id, described) {
  const letters = Math.max(0, ...described.map(({ name }) => shortName(name).length));
  const width = Math.min(Math.max(NARROW, 7.4 * letters), 120);
  element(id).style.setProperty("--name", `${width}px`);
  return width;
}

function shortAngle(value) {
  const text = value.toFixed(Math.abs(value) < 100 ? 2 : 0);
  return Number(text) === 0 ? text.replace("-", "") : text;
}

// Settings that the browser keeps; a page from disk may not be allowed to store any.
function remember(name, value) {
  try {
    localStorage.setItem(`robosim ${name}`, JSON.stringify(value));
  } catch { /* not stored */ }
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
  const [wide, phone] = [window.innerWidth > 900, window.matchMedia(PHONE).matches];
  document.body.classList.toggle("panel-open", remembered("panel-open", wide) && !phone);
  document.body.classList.toggle("charts-open", remembered("charts-open", window.innerWidth > 1200) && !phone);
}
