// The live page: shows the simulation, and sends what the user does to the server.
"use strict";

const [SCENE, FRAME, DOCUMENT, ROWS] = [0, 1, 2, 3];

// The real-time factor over about the last second, from arrival times of frames.
class Speedometer {
  constructor() {
    this.samples = [];
  }

  add(simulated, wall) {
    const last = this.samples[this.samples.length - 1];
    if (last && (simulated <= last[0] || wall - last[1] > 500)) this.samples = [];
    this.samples.push([simulated, wall]);
    while (this.samples.length > 2 && wall - this.samples[0][1] > 1500) this.samples.shift();
  }

  text() {
    const [first, last] = [this.samples[0], this.samples[this.samples.length - 1]];
    if (!first || last[1] - first[1] < 500 || performance.now() - last[1] > 500) return [];
    const factor = (1000 * (last[0] - first[0])) / (last[1] - first[1]);
    return [`${factor.toFixed(factor < 0.1 ? 3 : 2)} x real time`];
  }
}

// Pulls at the body under the mouse, in the plane through it that faces the camera.
class Hand {
  constructor(stage, send) {
    Object.assign(this, { stage, send });
    this.held = null;
    window.addEventListener("pointermove", (event) => this.move(event), true);
    window.addEventListener("pointerup", () => this.release(), true);
    window.addEventListener("pointercancel", () => this.release(), true);
    window.addEventListener("blur", () => this.release());
  }

  take(event, hit) {
    event.stopPropagation();
    event.preventDefault();
    const body = hit.object.userData.body;
    const facing = this.stage.viewer.camera.getWorldDirection(new THREE.Vector3());
    this.held = {
      body,
      point: this.stage.robot[body].worldToLocal(hit.point.clone()).toArray(),
      plane: new THREE.Plane().setFromNormalAndCoplanarPoint(facing, hit.point),
      target: hit.point.clone(),
      from: [event.clientX, event.clientY],
      since: performance.now(),
      pulls: false,
      sent: 0,
    };
    this.stage.held = true;
    document.body.classList.add("pulling");
    // By a timer as well, so that a page that draws slowly does not lose the body.
    this.timer = setInterval(() => this.tell(performance.now()), 100);
  }

  move(event) {
    if (!this.held) return;
    event.stopPropagation();
    this.stage.ray(event.clientX, event.clientY).ray.intersectPlane(this.held.plane, this.held.target);
    const [x, y] = this.held.from;
    if (Math.hypot(event.clientX - x, event.clientY - y) > Pointer.still) this.held.pulls = true;
    this.held.sent = 0;
  }

  // Sends the target after each movement of the mouse, and regularly while the body is held.
  tell(now) {
    if (!this.held || now - this.held.sent < 90) return;
    // A click is not a pull.
    if (!this.held.pulls && now - this.held.since < Pointer.longest) return;
    this.held.pulls = true;
    this.held.sent = now;
    const target = this.stage.viewer.scene.worldToLocal(this.held.target.clone()).toArray();
    this.send({ do: "drag", body: this.held.body, point: this.held.point, target });
  }

  release() {
    if (!this.held) return;
    const { pulls } = this.held;
    this.held = null;
    this.stage.held = false;
    clearInterval(this.timer);
    document.body.classList.remove("pulling");
    if (pulls) this.send({ do: "release" });
  }
}

function live() {
  dressPage();
  const stage = new Stage();
  const layers = new Layers(stage);
  const items = new Items(stage);
  const charts = new Charts();
  let socket = null;
  const send = (message) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
  const panel = new Panel(stage, layers, send);
  const hand = new Hand(stage, send);
  const card = new Card(stage, send);
  const choices = new Choices(send);
  const recent = new Recent();
  // A past state cannot be pulled.
  new Pointer(stage, card, (event, hit) => { if (!recent.past) hand.take(event, hit); });
  let newest = null;
  let shown = { time: NaN };
  let [told, written, drawn, over] = [true, 0, null, false];
  let speed = new Speedometer();
  let waiting = "";

  const documents = {
    panel: (content) => {
      charts.describe(content.charts);
      panel.describe(content, charts);
    },
    status: (content) => {
      panel.tell(content);
      told = false;
    },
    trails: (content) => layers.setTrails(content.points),
    body: (content) => card.tell(content.shown),
    waiting: (content) => {
      waiting = content.said;
      document.body.classList.toggle("waiting", Boolean(waiting));
      element("hud-bar").hidden = content.share === null;
      element("hud-bar").value = content.share || 0;
      told = false;
    },
    choices: (content) => choices.describe(content.cards),
    chosen: (content) => choices.mark(content.name, false),
    controls: (content) => panel.describeControls(content.controls),
    signals: (content) => charts.describeSignals(content.charts),
  };

  function take({ name, content }) {
    if (name.startsWith("item ")) items.put(name.slice(5), content);
    else if (name.startsWith("layer ")) panel.switchLayers({ [name.slice(6)]: content.on });
    else if (documents[name] && content) documents[name](content);
  }

  function receive(data) {
    const kind = new Uint32Array(data, 0, 1)[0];
    if (kind === SCENE) {
      stage.load(unpackScene(data.slice(4)));
      layers.load(stage.scene);
      panel.loadLayers(stage.scene);
      items.clear();
      card.clear();
      panel.describeControls([]);
      charts.describeSignals([]);
      recent.clear();
      newest = null;
      speed = new Speedometer();
    } else if (kind === FRAME) {
      newest = unpackFrame(data, 4, stage.bodies.length);
      recent.add(newest);
      if (!Number.isNaN(newest.time)) speed.add(newest.time, performance.now());
    } else if (kind === DOCUMENT) {
      take(unpackDocument(data));
    } else if (kind === ROWS) {
      unpackRows(data, 4, (chart, rows) => charts.add(chart, rows));
    }
  }

  function connect() {
    socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/frames${location.search}`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      over = false;
      element("hud").classList.remove("ended");
    };
    socket.onmessage = ({ data }) => receive(data);
    socket.onclose = () => {
      over = true;
      element("hud").classList.add("ended");
      // The last frame stays, and may still have to be drawn.
      told = false;
      written = 0;
      setTimeout(connect, 1000);
    };
  }

  function describe(time, lines) {
    element("hud-time").textContent = Number.isNaN(time) ? "" : `t = ${time.toFixed(time < 1000 ? 2 : 0)} s`;
    element("hud-note").textContent = lines.join("\n");
  }

  // The real-time factor: measured by the simulation, or else from arrival times of frames.
  function pace() {
    if (recent.past) return [`${(recent.last - recent.time).toFixed(1)} s ago`];
    if (waiting) return waiting.split("\n");
    if (panel.status && panel.status.paused) return ["paused"];
    if (panel.status && !panel.status.started) return ["starting"];
    const factor = charts.newest(1);
    if (factor === undefined) return speed.text();
    return Number.isNaN(factor) ? [] : [`${factor.toFixed(factor < 0.1 ? 3 : 2)} x real time`];
  }

  stage.eachFrame((now) => {
    hand.tell(now);
    panel.flush();
    const { past } = recent;
    if (past) recent.advance(now);
    charts.draw(now, past ? recent.time : undefined);
    if (past) {
      showMoment(recent, stage, layers, card);
      [shown, newest, drawn, told] = [{ time: recent.time }, null, null, false];
    } else if (newest !== null) {
      if (drawn !== null) panel.watch(now - drawn);
      drawn = now;
      shown = newest;
      newest = null;
      stage.pose(shown);
      layers.show(shown);
      card.follow(null, null, true);
      window.robosim.frames += 1;
      told = false;
    } else {
      drawn = null;
      if (stage.placed && !stage.settled) stage.moveAlong();
      if (card.changed && stage.placed) card.follow(null, null, true);
    }
    // Text is laid out each time it changes, so it is updated less often than the robot.
    if (told || now - written < 100) return;
    told = true;
    written = now;
    panel.follow();
    recent.tell();
    describe(shown.time, over ? ["ended; waiting for the next run"] : [...pace(), ...layers.told()]);
  });
  // For scripts and tests that drive the page.
  window.robosim = { stage, layers, panel, charts, items, card, choices, recent, send, frames: 0 };
  connect();
}
