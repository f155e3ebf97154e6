// The card with the data of the selected body, and the outline of this body in the scene.
"use strict";

const DEGREES = 180 / Math.PI;
const SELECTED = [0.1, 0.55, 0.95];

function threeNumbers(values, digits) {
  return Array.from(values, (value) => (Math.abs(value) < 0.5 * 10 ** -digits ? 0 : value).toFixed(digits)).join("\u00a0\u00a0");
}

class Card {
  constructor(stage, send) {
    Object.assign(this, { stage, send, body: null, told: null, changed: false });
    element("card-close").onclick = () => this.select(null);
  }

  // Selects a body. A live run then sends its velocity and contacts.
  select(body) {
    if (body === this.body) return;
    this.asked = performance.now();
    this.put(body);
    this.send(body === null ? { do: "deselect" } : { do: "select", body });
  }

  // Takes what the run sends to all browsers.
  tell(shown) {
    const body = shown ? shown.body : null;
    if (body !== this.body) {
      if (performance.now() - (this.asked || -Infinity) < 1000) return; // from before the selection
      this.put(body);
    }
    this.told = shown;
    this.changed = true;
  }

  put(body) {
    const { viewer, scene, robot } = this.stage;
    Object.assign(this, { body, told: null, changed: true });
    document.body.classList.toggle("card-open", body !== null);
    if (this.outline) viewer.delete_path(["selected"]);
    this.outline = null;
    if (window.matchMedia(PHONE).matches) {
      if (body !== null) document.body.classList.remove("panel-open", "charts-open");
      window.dispatchEvent(new Event("resize"));
    }
    if (body === null) return;
    element("card-name").textContent = scene.bodies[body].name;
    this.outline = new THREE.Group();
    const pale = basic(srgb(...SELECTED), 0.35);
    Object.assign(pale, { polygonOffset: true, polygonOffsetFactor: -1, polygonOffsetUnits: -1, side: THREE.DoubleSide });
    for (const mesh of robot[body].children) {
      const copy = new THREE.Mesh(mesh.geometry, pale);
      copy.position.copy(mesh.position);
      copy.quaternion.copy(mesh.quaternion);
      this.outline.add(copy);
    }
    viewer.set_object(["selected"], this.outline);
    this.move();
  }

  move() {
    if (this.outline) {
      this.outline.position.copy(this.stage.robot[this.body].position);
      this.outline.quaternion.copy(this.stage.robot[this.body].quaternion);
      this.stage.viewer.set_dirty();
    }
  }

  // Fills the card for the frame that is shown; velocity and contacts only from the run.
  follow(frame, next, told) {
    this.changed = false;
    if (this.body === null) return;
    this.move();
    const now = performance.now();
    if (now - (this.written || -Infinity) < 100) {
      this.changed = true;
      return;
    }
    this.written = now;
    element("card-rows").replaceChildren(...this.rows(told ? this.told : null, frame, next).map(([name, value, hint]) =>
      make("tr", { title: hint || "" }, make("th", { textContent: name }), make("td", { textContent: value }))));
  }

  rows(told, frame, next) {
    const { scene, robot } = this.stage;
    const { position, quaternion } = robot[this.body];
    const turn = new THREE.Euler().setFromQuaternion(quaternion, "ZYX");
    const rows = [["mass", `${shortNumber(scene.bodies[this.body].mass)} kg`]];
    if (told && told.links.length) rows.push(["links", told.links.join(", "), "merged into this body"]);
    rows.push(
      ["position", `${threeNumbers(position.toArray(), 3)}\u00a0m`, "of the centre of mass, in world axes"],
      ["roll, pitch, yaw", `${threeNumbers([turn.x, turn.y, turn.z].map((angle) => angle * DEGREES), 1)}\u00a0deg`,
        `quaternion w x y z: ${threeNumbers([quaternion.w, quaternion.x, quaternion.y, quaternion.z], 4)}`],
    );
    if (told) {
      rows.push(["velocity", `${threeNumbers(told.velocity, 3)}\u00a0m/s`, "of the centre of mass, in world axes"],
        ["angular velocity", `${threeNumbers(told.omega, 3)}\u00a0rad/s`, "in world axes"]);
      if (told.touching) {
        rows.push([`${told.touching} contact${told.touching > 1 ? "s" : ""}`, `${threeNumbers(told.force, 1)}\u00a0N`, "sum of the contact forces on the body, in world axes"]);
        for (const { link, other, force, gap } of told.contacts) {
          rows.push([`${link} on ${other}`, `${threeNumbers(force, 1)}\u00a0N`, `gap ${shortNumber(1000 * gap)} mm`]);
        }
      } else rows.push(["contacts", "none"]);
    } else if (frame && next) {
      const k = 7 * this.body;
      const dt = Math.max(next.time - frame.time, 1e-9);
      const v = [0, 1, 2].map((axis) => (next.poses[k + axis] - frame.poses[k + axis]) / dt);
      rows.push(["velocity", `${threeNumbers(v, 3)}\u00a0m/s`, "mean over the time between two frames"]);
    }
    return rows;
  }

  clear() {
    if (this.body !== null) this.put(null);
  }
}

// Clicks: a press of the main button without a movement, on a body or beside all of them.
class Pointer {
  constructor(stage, card, pull) {
    Object.assign(this, { stage, card });
    this.pressed = null;
    const pane = element("meshcat-pane");
    // Before the camera's own listeners, which lie on the pane itself.
    pane.parentElement.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !event.isPrimary || event.target !== stage.viewer.renderer.domElement || !stage.placed) return;
      const hit = this.hit(event);
      this.pressed = { x: event.clientX, y: event.clientY, body: hit ? hit.object.userData.body : null, at: performance.now() };
      if (hit && !event.shiftKey) pull(event, hit);
    }, true);
    window.addEventListener("pointermove", (event) => {
      if (this.pressed && this.away(event) > Pointer.still) this.pressed = null;
    }, true);
    window.addEventListener("pointerup", (event) => {
      const { pressed } = this;
      this.pressed = null;
      if (pressed && this.away(event, pressed) <= Pointer.still && performance.now() - pressed.at < Pointer.longest) card.select(pressed.body);
    }, true);
    window.addEventListener("pointercancel", () => { this.pressed = null; }, true);
  }

  away(event, from = this.pressed) {
    return Math.hypot(event.clientX - from.x, event.clientY - from.y);
  }

  hit(event) {
    const caster = this.stage.ray(event.clientX, event.clientY);
    const meshes = this.stage.robot.filter((body) => body.visible).flatMap((body) => body.children);
    return caster.intersectObjects(meshes)[0];
  }
}
Pointer.still = 4; // pixels that a click may move by
Pointer.longest = 400; // [ms] that it may last
