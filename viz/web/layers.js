// Layers that can be switched on and off: contacts, forces, inertia, axes, ...
"use strict";

const STILL = new THREE.Quaternion();
const TRAIL_COLORS = [[0, 0.45, 0.7], [0.84, 0.37, 0], [0, 0.62, 0.45], [0.8, 0.47, 0.65], [0.34, 0.71, 0.91], [0.9, 0.62, 0]];

function rotated(group, [w, x, y, z]) {
  group.quaternion.set(x, y, z, w);
  return group;
}

class Layers {
  constructor(stage) {
    this.stage = stage;
    this.shown = {};
    this.total = 0;
    this.touching = 0;
    this.worst = null;
  }

  load(scene) {
    const { viewer } = this.stage;
    this.scene = scene;
    if ("layers" in viewer.scene_tree.children) viewer.delete_path(["layers"]);
    this.ready = false;
    // Layers of the previous robot are removed.
    this.asked = this.frame_ = this.colored = this.worst = null;
  }

  // Built with the first pose, as sizes depend on how large the robot is.
  build() {
    const { stage, scene } = this;
    this.size = stage.size;
    this.thin = 0.0065 * this.size;
    this.forceScale = (0.7 * this.size) / scene.weight;
    this.groups = {};
    const group = (name) => this.group(name);
    // Groups that move with the bodies, one for each.
    const onBodies = (name, make) => {
      const parts = scene.bodies.map((body, index) => make(body, index));
      group(name).add(...parts);
      return parts;
    };
    this.riders = [
      onBodies("collision", (body) => this.collision(body)),
      onBodies("inertia", (body) => this.inertia(body)),
      onBodies("axes", (body, index) => this.axes(index)),
      onBodies("frames", (body) => this.frame(body)),
      onBodies("names", (body) => this.name(body)),
    ];
    this.buildContacts(group);
    this.center = new Center(group("com"), this.thin, scene.bodies.map((body) => body.mass));
    this.buildTrails();
    this.buildPull(group("pull"));
    this.ready = true;
    this.apply();
  }

  group(name) {
    this.groups[name] = new THREE.Group();
    this.stage.viewer.set_object(["layers", name], this.groups[name]);
    return this.groups[name];
  }

  collision(body) {
    const part = new THREE.Group();
    const material = basic(srgb(0.1, 0.62, 0.45), 0.35);
    for (const shape of body.collisions) {
      const mesh = new THREE.Mesh(this.stage.geometries[shape.geometry], material);
      mesh.position.fromArray(shape.position);
      part.add(rotated(mesh, shape.quaternion));
      const edges = new THREE.LineSegments(
        new THREE.EdgesGeometry(mesh.geometry, 20), new THREE.LineBasicMaterial({ color: srgb(0.05, 0.42, 0.3) }));
      edges.position.copy(mesh.position);
      edges.quaternion.copy(mesh.quaternion);
      part.add(edges);
    }
    return part;
  }

  inertia(body) {
    if (body.carrier) return new THREE.Group();
    const mesh = new THREE.Mesh(new THREE.SphereGeometry(1, 24, 16), basic(srgb(0.55, 0.35, 0.8), 0.5));
    mesh.material.depthTest = false;
    mesh.scale.fromArray(body.inertia.radii);
    mesh.renderOrder = 5;
    return new THREE.Group().add(rotated(mesh, body.inertia.quaternion));
  }

  axes(index) {
    const part = new THREE.Group();
    for (const joint of this.scene.joints.filter((one) => one.body === index)) {
      const at = new THREE.Vector3().fromArray(joint.position);
      for (const [directions, color] of [[joint.turns, [0.85, 0.15, 0.45]], [joint.slides, [0.1, 0.5, 0.75]]]) {
        for (const direction of directions) {
          const arrow = new Arrow(srgb(...color));
          const along = new THREE.Vector3().fromArray(direction).setLength(0.16 * this.size);
          arrow.set(at.clone().addScaledVector(along, -0.5), along, 0.6 * this.thin);
          part.add(seeThrough(arrow));
        }
      }
    }
    return part;
  }

  frame(body) {
    const part = new THREE.Group();
    const origin = new THREE.Vector3().fromArray(body.frame);
    [[0.85, 0.2, 0.2], [0.2, 0.6, 0.25], [0.2, 0.4, 0.85]].forEach((color, axis) => {
      const arrow = new Arrow(srgb(...color));
      arrow.set(origin, new THREE.Vector3().setComponent(axis, 0.12 * this.size), 0.5 * this.thin);
      part.add(seeThrough(arrow));
    });
    return part;
  }

  name(body) {
    const part = new THREE.Group();
    return body.carrier ? part : part.add(label(body.name, "#24303c"));
  }

  buildContacts(group) {
    const count = this.scene.max_contacts;
    const orange = srgb(0.93, 0.42, 0.05);
    const shaft = new THREE.CylinderGeometry(1, 1, 1, 20).translate(0, 0.5, 0);
    const head = new THREE.ConeGeometry(1, 1, 24).translate(0, 0.5, 0);
    const ball = new THREE.SphereGeometry(1, 16, 12);
    this.marks = {
      shaft: new Marks(shaft, orange, count),
      head: new Marks(head, orange, count),
      touching: new Marks(ball, orange, count),
      free: new Marks(ball, srgb(0.25, 0.5, 0.75), count),
    };
    group("forces").add(this.marks.shaft.group, this.marks.head.group);
    group("contacts").add(this.marks.touching.group, this.marks.free.group);
  }

  buildPull(group) {
    const string = new THREE.Line(
      new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(6), 3)),
      new THREE.LineBasicMaterial({ color: srgb(0.8, 0.1, 0.35) }));
    string.frustumCulled = false;
    const arrow = seeThrough(new Arrow(srgb(0.85, 0.1, 0.4)));
    // Where the mouse is.
    const end = seeThrough(new THREE.Mesh(new THREE.SphereGeometry(1.5 * this.thin, 16, 12), basic(srgb(0.8, 0.1, 0.35), 1)));
    this.pull = { group, string, arrow, end, size: 0 };
    group.add(string, arrow, end);
    group.visible = false;
  }

  // Points with trails: at the bodies at the ends of the tree, or those that a script has chosen.
  trailPoints() {
    if (this.asked) return this.asked;
    return this.scene.trails.map(({ body, point }) => ({ name: this.scene.bodies[body].name, body, point }));
  }

  buildTrails() {
    this.trails = this.trailPoints().map((one, k) => {
      const trail = new Trail(srgb(...TRAIL_COLORS[k % TRAIL_COLORS.length]));
      this.group(`trail ${one.name}`).add(trail.line);
      return { ...one, trail };
    });
  }

  setTrails(points) {
    this.asked = points;
    if (!this.ready) return;
    for (const name of this.trails.map((one) => `trail ${one.name}`)) {
      this.stage.viewer.delete_path(["layers", name]);
      delete this.groups[name];
    }
    this.buildTrails();
    this.apply();
  }

  switch(shown) {
    Object.assign(this.shown, shown);
    if (this.ready) this.apply();
  }

  apply() {
    const { stage, shown } = this;
    for (const [name, group] of Object.entries(this.groups)) {
      if (name !== "pull") group.visible = Boolean(shown[name.startsWith("trail ") ? "trails" : name]);
    }
    for (const body of stage.bodies) body.visible = shown.visual;
    for (const part of [...stage.skins, ...(stage.lines ? [stage.lines] : [])]) part.visible = shown.visual;
    if (stage.ground) stage.ground.visible = shown.ground;
    stage.sun.castShadow = shown.shadows && stage.detailed;
    if (!shown.trails) this.clearTrails();
    this.colorViolations(this.frame_);
    stage.viewer.set_dirty();
  }

  clearTrails() {
    for (const { trail } of this.trails) trail.clear();
  }

  show(frame) {
    if (!this.ready) this.build();
    this.frame_ = frame;
    for (const parts of this.riders) {
      parts.forEach((part, k) => {
        part.position.copy(this.stage.bodies[k].position);
        part.quaternion.copy(this.stage.bodies[k].quaternion);
      });
    }
    this.showContacts(frame.contacts);
    if (this.shown.com) this.center.show(this.stage.bodies, frame.contacts);
    if (this.shown.trails) this.extendTrails();
    this.colorViolations(frame);
    this.showPull(frame.pulls);
  }

  showContacts(contacts) {
    const { shaft, head, touching, free } = this.marks;
    const [point, force, direction] = [0, 1, 2].map(() => new THREE.Vector3());
    const [turn, scale] = [new THREE.Quaternion(), new THREE.Vector3()];
    const { thin } = this;
    for (const mark of Object.values(this.marks)) mark.begin();
    this.total = 0;
    for (let k = 0; k < contacts.length; k += 6) {
      point.fromArray(contacts, k);
      force.fromArray(contacts, k + 3);
      const newtons = force.length();
      if (newtons === 0) {
        free.add(point, STILL, scale.setScalar(1.1 * thin));
        continue;
      }
      this.total += force.z;
      touching.add(point, STILL, scale.setScalar(1.6 * thin));
      direction.copy(force).divideScalar(newtons);
      turn.setFromUnitVectors(UP, direction);
      const length = Math.min(newtons * this.forceScale, 1.2 * this.size);
      const tip = Math.min(5 * thin, 0.5 * length);
      shaft.add(point, turn, scale.set(thin, length - tip, thin));
      point.addScaledVector(direction, length - tip);
      head.add(point, turn, scale.set(2.2 * thin, tip, 2.2 * thin));
    }
    for (const mark of Object.values(this.marks)) mark.end();
    this.touching = touching.count;
  }

  extendTrails() {
    const point = new THREE.Vector3();
    for (const { body, point: offset, trail } of this.trails) {
      const part = this.stage.bodies[body];
      point.fromArray(offset).applyQuaternion(part.quaternion).add(part.position);
      trail.add(point, 2e-3 * this.size);
    }
  }

  // Colours of bodies from green to red by their joints' violation, 1e-12 to 1e-3 m.
  colorViolations(frame) {
    const on = Boolean(this.shown.violation && frame && frame.violations.length);
    this.worst = null;
    if (!on && !this.colored) return;
    if (on && !this.colored) {
      this.colored = this.stage.robot.map((body) => ({
        material: new THREE.MeshStandardMaterial({ roughness: 0.6, side: THREE.DoubleSide }),
        before: body.children.map((mesh) => mesh.material),
      }));
      this.stage.robot.forEach((body, k) => {
        for (const mesh of body.children) mesh.material = this.colored[k].material;
      });
    }
    if (!on) {
      this.stage.robot.forEach((body, k) => {
        body.children.forEach((mesh, m) => { mesh.material = this.colored[k].before[m]; });
      });
      this.colored = null;
      return;
    }
    const largest = this.stage.robot.map(() => 0);
    this.scene.joints.forEach((joint, j) => {
      const off = frame.violations[j];
      largest[joint.body] = Math.max(largest[joint.body], off);
      if (!this.worst || off > this.worst.off) this.worst = { name: joint.name, off };
    });
    largest.forEach((off, k) => {
      const share = Math.min(Math.max((Math.log10(Math.max(off, 1e-30)) + 12) / 9, 0), 1);
      this.colored[k].material.color.setHSL((1 - share) / 3, 0.6, 0.45).convertSRGBToLinear();
    });
  }

  showPull(pulls) {
    const { group, string, arrow, end } = this.pull;
    group.visible = pulls.length > 0;
    this.pull.size = 0;
    if (!group.visible) return;
    const [at, force, target] = [0, 3, 6].map((k) => new THREE.Vector3().fromArray(pulls, k));
    this.pull.size = force.length();
    at.toArray(string.geometry.attributes.position.array, 0);
    end.position.copy(target);
    target.toArray(string.geometry.attributes.position.array, 3);
    string.geometry.attributes.position.needsUpdate = true;
    const length = Math.min(this.pull.size * this.forceScale, 1.2 * this.size);
    arrow.set(at, force.setLength(Math.max(length, 1e-9)), this.thin);
  }

  // Lines for the corner of the page.
  told() {
    const lines = [];
    if (this.touching > 0) lines.push(`${this.touching} contact${this.touching > 1 ? "s" : ""}, ${this.total.toFixed(0)} N upward`);
    if (this.pull && this.pull.size > 0) lines.push(`pulling with ${this.pull.size.toFixed(0)} N`);
    if (this.worst) lines.push(`joint violation ${this.worst.off.toExponential(0)} m`);
    return lines;
  }
}
