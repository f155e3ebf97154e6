// The page's own part, on top of meshcat's viewer: builds the robot from a scene message and
// moves it by frame messages (their layout: viz/scene.py), live or from a recording.
"use strict";

const Robosim = (() => {
  const THREE = MeshCat.THREE;
  const element = (id) => document.getElementById(id);
  const ARRAYS = { Float32Array, Uint32Array, Uint16Array, Int16Array };

  // ---- messages -------------------------------------------------------------------------

  function unpackScene(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const scene = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const base = 4 + length;
    scene.array = ([type, offset, count]) => new ARRAYS[type](buffer, base + offset, count);
    scene.bytes = ([, offset, count]) => new Uint8Array(buffer, base + offset, count);
    return scene;
  }

  function unpackFrame(buffer, offset, nBodies) {
    const head = new Float32Array(buffer, offset, 2);
    const nContacts = head[1];
    const poses = new Float32Array(buffer, offset + 8, 7 * nBodies);
    const start = offset + 8 + 28 * nBodies;
    const contacts = new Float32Array(buffer, start, 6 * nContacts);
    return { time: head[0], poses, contacts, end: start + 24 * nContacts };
  }

  // ---- the scene ------------------------------------------------------------------------

  function srgb(r, g, b) {
    return new THREE.Color(r, g, b).convertSRGBToLinear();
  }

  function canvasTexture(width, height, draw) {
    const canvas = document.createElement("canvas");
    canvas.width = width;
    canvas.height = height;
    draw(canvas.getContext("2d"));
    const texture = new THREE.CanvasTexture(canvas);
    texture.encoding = THREE.sRGBEncoding;
    return texture;
  }

  function buildGeometry(scene, description) {
    const geometry = new THREE.BufferGeometry();
    const add = (name, values, size, normalized) =>
      geometry.setAttribute(name, new THREE.BufferAttribute(values, size, normalized));
    add("position", scene.array(description.position), 3, false);
    const normals = scene.array(description.normal);
    add("normal", Float32Array.from(normals, (value) => value / 32767), 3, false);
    if (description.uv) add("uv", scene.array(description.uv), 2, false);
    geometry.setIndex(new THREE.BufferAttribute(scene.array(description.index), 1));
    return geometry;
  }

  function buildMaterial(scene, shape, cache, onLoad) {
    const key = JSON.stringify([shape.rgba, shape.texture]);
    if (cache.has(key)) return cache.get(key);
    const [r, g, b, a] = shape.rgba;
    const material = new THREE.MeshStandardMaterial({
      color: shape.texture ? new THREE.Color(1, 1, 1) : srgb(r, g, b),
      opacity: a,
      transparent: a < 1,
      roughness: 0.55,
      metalness: 0.05,
      side: THREE.DoubleSide,
      shadowSide: THREE.DoubleSide,
    });
    if (shape.texture) {
      const url = URL.createObjectURL(new Blob([scene.bytes(shape.texture)], { type: shape.texture[0] }));
      material.map = new THREE.TextureLoader().load(url, onLoad);
      material.map.encoding = THREE.sRGBEncoding;
      material.map.wrapS = material.map.wrapT = THREE.RepeatWrapping;
    }
    cache.set(key, material);
    return material;
  }

  // A dome from the haze of the horizon to the zenith, out of reach of the fog.
  function buildSky(haze, zenith) {
    const dome = new THREE.SphereGeometry(1, 32, 32).rotateX(Math.PI / 2);
    const heights = dome.attributes.position;
    const colors = new Float32Array(3 * heights.count);
    for (let k = 0; k < heights.count; k += 1) {
      const up = Math.min(Math.max(heights.getZ(k) / 0.6, 0), 1);
      haze.clone().lerp(zenith, up).toArray(colors, 3 * k);
    }
    dome.setAttribute("color", new THREE.BufferAttribute(colors, 3));
    const sky = new THREE.Mesh(dome, new THREE.MeshBasicMaterial({
      vertexColors: true, side: THREE.BackSide, fog: false, depthTest: false, depthWrite: false,
    }));
    sky.renderOrder = -1;
    sky.frustumCulled = false;
    return sky;
  }

  // Many equal shapes in one draw call, with a faint copy that shows through what hides them.
  class Marks {
    constructor(geometry, color, count) {
      const solid = new THREE.MeshStandardMaterial({ color, roughness: 0.5, metalness: 0 });
      const ghost = new THREE.MeshBasicMaterial({
        color, transparent: true, opacity: 0.3, depthTest: false, depthWrite: false,
      });
      this.meshes = [solid, ghost].map((material) => new THREE.InstancedMesh(geometry, material, count));
      this.meshes[1].renderOrder = 10;
      this.group = new THREE.Group();
      for (const mesh of this.meshes) {
        mesh.frustumCulled = false;
        mesh.count = 0;
        this.group.add(mesh);
      }
    }

    begin() {
      this.count = 0;
    }

    add(position, quaternion, scale) {
      Marks.matrix.compose(position, quaternion, scale);
      for (const mesh of this.meshes) mesh.setMatrixAt(this.count, Marks.matrix);
      this.count += 1;
    }

    end() {
      for (const mesh of this.meshes) {
        mesh.count = this.count;
        mesh.instanceMatrix.needsUpdate = true;
      }
    }
  }
  Marks.matrix = new THREE.Matrix4();

  class Stage {
    constructor() {
      this.viewer = new MeshCat.Viewer(element("meshcat-pane"));
      const { viewer } = this;
      viewer.renderer.outputEncoding = THREE.sRGBEncoding;
      viewer.camera.fov = 40;
      for (const [property, rgb] of [["top_color", [0.6, 0.71, 0.82]], ["bottom_color", [0.88, 0.91, 0.94]]]) {
        viewer.set_property(["Background"], property, rgb);
      }
      const haze = srgb(0.88, 0.91, 0.94);
      viewer.scene.background = haze;
      this.sky = buildSky(haze, srgb(0.6, 0.71, 0.82));
      viewer.scene.add(this.sky);
      // This three.js mixes the fog in after the conversion to sRGB.
      viewer.scene.fog = new THREE.Fog(haze.clone().convertLinearToSRGB(), 10, 100);
      viewer.set_property(["Grid"], "visible", false);
      viewer.set_property(["Axes"], "visible", false);
      viewer.gui.removeFolder(viewer.animator.folder); // recordings are played by the bar instead
      viewer.delete_path(["Lights"]);
      this.sun = new THREE.DirectionalLight(0xfffaf2, 0.72);
      this.sun.castShadow = true;
      this.sun.shadow.mapSize.set(2048, 2048);
      this.sun.shadow.radius = 3;
      this.sun.shadow.normalBias = 0.002;
      viewer.set_object(["Lights", "Sun"], this.sun);
      viewer.scene.add(this.sun.target);
      viewer.set_object(["Lights", "Sky"], new THREE.HemisphereLight(0xf4f8ff, 0x98a0a8, 0.62));
      this.followed = new THREE.Vector3();
      this.follow = true;
      this.hasGui = false;
    }

    load(scene) {
      const { viewer } = this;
      this.scene = scene;
      this.placed = false;
      document.title = `${scene.name} - robosim`;
      element("hud-name").textContent = scene.name;
      for (const path of ["robot", "contacts", "ground"]) {
        if (path in viewer.scene_tree.children) viewer.delete_path([path]);
      }
      const geometries = scene.geometries.map((description) => buildGeometry(scene, description));
      const materials = new Map();
      const onLoad = () => viewer.set_dirty();
      const build = (name, shapes) => {
        const group = new THREE.Group();
        for (const shape of shapes) {
          const material = buildMaterial(scene, shape, materials, onLoad);
          const mesh = new THREE.Mesh(geometries[shape.geometry], material);
          mesh.position.fromArray(shape.position);
          const [w, x, y, z] = shape.quaternion;
          mesh.quaternion.set(x, y, z, w);
          mesh.castShadow = mesh.receiveShadow = true;
          group.add(mesh);
        }
        viewer.set_object(["robot", name], group);
        return group;
      };
      this.bodies = scene.bodies.map((body) => build(body.name, body.shapes));
      if (scene.fixed.length) build("(fixed to the world)", scene.fixed);
      const count = scene.max_contacts;
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
      const group = (...marks) => new THREE.Group().add(...marks.map((mark) => mark.group));
      viewer.set_object(["contacts", "forces"], group(this.marks.shaft, this.marks.head));
      viewer.set_object(["contacts", "points"], group(this.marks.touching, this.marks.free));
      if (!this.hasGui && scene.follow) {
        viewer.gui.add(this, "follow").name("follow the robot");
        this.hasGui = true;
      }
    }

    // Everything that depends on how large the robot is, once its first pose is known.
    place() {
      const { viewer, scene } = this;
      const box = new THREE.Box3();
      viewer.scene.updateMatrixWorld(true);
      const toScene = viewer.scene.matrixWorld.clone().invert();
      for (const body of this.bodies) {
        if (body.children.length) box.union(new THREE.Box3().setFromObject(body));
      }
      box.applyMatrix4(toScene);
      this.center = box.getCenter(new THREE.Vector3());
      this.size = Math.max(box.getSize(new THREE.Vector3()).length(), 1e-3);
      this.forceScale = (0.7 * this.size) / scene.weight;
      // Far enough for its height and for its width from any side, with a margin.
      const extent = box.getSize(new THREE.Vector3());
      const reachAcross = 0.5 * Math.hypot(extent.x, extent.y);
      const slope = Math.tan((viewer.camera.fov / 2) * (Math.PI / 180));
      const across = reachAcross / (slope * viewer.camera.aspect);
      const distance = 1.2 * Math.max(0.5 * extent.z / slope, across) + reachAcross;
      const eye = new THREE.Vector3(1.0, -0.95, 0.48).setLength(distance).add(this.center);
      if (scene.ground) eye.z = Math.max(eye.z, 0.2 * this.size);
      viewer.camera.near = this.size / 200;
      viewer.camera.far = this.size * 400;
      // The camera lives in three.js's y-up world; the scene is z-up.
      viewer.camera.position.copy(eye).applyMatrix4(viewer.scene.matrixWorld);
      viewer.controls.target.copy(this.center).applyMatrix4(viewer.scene.matrixWorld);
      this.followed.copy(this.bodies[0].position);
      this.moved = performance.now();
      const reach = this.size * 1.3;
      Object.assign(this.sun.shadow.camera, {
        left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1 * this.size, far: 12 * this.size,
      });
      this.sun.shadow.camera.updateProjectionMatrix();
      if (scene.ground) this.addGround();
      this.placed = true;
    }

    addGround() {
      const steps = [1, 2, 5, 10].map((step) => step * 10 ** Math.floor(Math.log10(0.4 * this.size)));
      this.tile = steps.reduce((best, step) => (Math.abs(step - 0.4 * this.size) < Math.abs(best - 0.4 * this.size) ? step : best));
      const pairs = 100;
      const checks = canvasTexture(256, 256, (context) => {
        context.fillStyle = "#cfd6dd";
        context.fillRect(0, 0, 256, 256);
        context.fillStyle = "#bac5cf";
        context.fillRect(0, 0, 128, 128);
        context.fillRect(128, 128, 128, 128);
      });
      checks.wrapS = checks.wrapT = THREE.RepeatWrapping;
      checks.repeat.set(pairs, pairs);
      checks.anisotropy = this.viewer.renderer.capabilities.getMaxAnisotropy();
      const width = 2 * this.tile * pairs;
      // Pushed back a little, so that what rests on it at z = 0 is not drawn through it.
      const material = new THREE.MeshStandardMaterial({
        map: checks, roughness: 0.95, metalness: 0, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1,
      });
      this.ground = new THREE.Mesh(new THREE.PlaneGeometry(width, width), material);
      this.ground.receiveShadow = true;
      this.viewer.set_object(["ground"], this.ground);
    }

    // Shows a frame; with `next` and `fraction`, the pose that far on the way to `next`.
    show(frame, next, fraction) {
      const a = frame.poses;
      const b = next ? next.poses : a;
      const other = new THREE.Quaternion();
      this.bodies.forEach((body, index) => {
        const k = 7 * index;
        body.position.set(a[k], a[k + 1], a[k + 2]);
        body.quaternion.set(a[k + 4], a[k + 5], a[k + 6], a[k + 3]);
        if (next) {
          body.position.lerp(new THREE.Vector3(b[k], b[k + 1], b[k + 2]), fraction);
          body.quaternion.slerp(other.set(b[k + 4], b[k + 5], b[k + 6], b[k + 3]), fraction);
        }
      });
      if (!this.placed) this.place();
      this.showContacts(frame.contacts);
      this.moveAlong();
      this.viewer.set_dirty();
    }

    showContacts(contacts) {
      const { shaft, head, touching, free } = this.marks;
      const up = new THREE.Vector3(0, 1, 0);
      const still = new THREE.Quaternion();
      const [point, force, direction] = [0, 1, 2].map(() => new THREE.Vector3());
      const [turn, scale] = [new THREE.Quaternion(), new THREE.Vector3()];
      const thin = 0.0065 * this.size;
      for (const mark of Object.values(this.marks)) mark.begin();
      this.total = 0;
      for (let k = 0; k < contacts.length; k += 6) {
        point.fromArray(contacts, k);
        force.fromArray(contacts, k + 3);
        const newtons = force.length();
        if (newtons === 0) {
          free.add(point, still, scale.setScalar(1.1 * thin));
          continue;
        }
        this.total += force.z;
        touching.add(point, still, scale.setScalar(1.6 * thin));
        direction.copy(force).divideScalar(newtons);
        turn.setFromUnitVectors(up, direction);
        const length = Math.min(newtons * this.forceScale, 1.2 * this.size);
        const tip = Math.min(5 * thin, 0.5 * length);
        shaft.add(point, turn, scale.set(thin, length - tip, thin));
        point.addScaledVector(direction, length - tip);
        head.add(point, turn, scale.set(2.2 * thin, tip, 2.2 * thin));
      }
      for (const mark of Object.values(this.marks)) mark.end();
    }

    // Keeps the camera, the shadow and the ground with a robot that walks away.
    moveAlong() {
      const { viewer } = this;
      const now = performance.now();
      // Closely along the ground, lazily up and down, so that a hop is seen as one.
      const [share, shareUp] = [150, 1000].map((ms) => 1 - Math.exp(-Math.max(now - this.moved, 0) / ms));
      this.moved = now;
      this.settled = true;
      if (this.follow && this.scene.follow) {
        const step = this.bodies[0].position.clone().sub(this.followed);
        step.multiply(new THREE.Vector3(share, share, shareUp));
        this.settled = step.length() < 1e-4 * this.size;
        this.followed.add(step);
        this.center.add(step);
        step.applyMatrix4(viewer.scene.matrixWorld);
        viewer.camera.position.add(step);
        viewer.controls.target.add(step);
      }
      this.sun.target.position.copy(this.center);
      this.sun.position.set(0.55, -0.65, 1).setLength(5 * this.size).add(this.center);
      if (this.ground) {
        const pair = 2 * this.tile;
        this.ground.position.set(
          pair * Math.round(this.center.x / pair), pair * Math.round(this.center.y / pair), 0);
      }
    }

    beforeRender() {
      if (!this.placed) return;
      const { viewer } = this;
      const distance = viewer.camera.position.distanceTo(viewer.controls.target);
      this.sky.position.copy(viewer.scene.worldToLocal(viewer.camera.position.clone()));
      this.sky.scale.setScalar(0.5 * viewer.camera.far);
      viewer.scene.fog.near = distance + 3 * this.size;
      viewer.scene.fog.far = 5 * distance + 14 * this.size;
    }

    describe(time, extra) {
      element("hud-time").textContent = Number.isNaN(time) ? "" : `t = ${time.toFixed(2)} s`;
      const lines = [...extra];
      if (this.marks && this.marks.touching.count > 0) {
        const n = this.marks.touching.count;
        lines.push(`${n} contact${n > 1 ? "s" : ""}, ${this.total.toFixed(0)} N up`);
      }
      element("hud-note").textContent = lines.join("\n");
    }
  }

  function eachAnimationFrame(stage, action) {
    const loop = (now) => {
      requestAnimationFrame(loop);
      action(now);
      stage.beforeRender();
    };
    requestAnimationFrame(loop);
  }

  // ---- live -----------------------------------------------------------------------------

  // How fast simulated time passed over about the last second, from arrival times.
  class Speedometer {
    constructor() {
      this.samples = [];
    }

    add(simulated, wall) {
      if (this.samples.length && simulated < this.samples[this.samples.length - 1][0]) this.samples = [];
      this.samples.push([simulated, wall]);
      while (this.samples.length > 2 && wall - this.samples[0][1] > 1500) this.samples.shift();
    }

    text() {
      const [first, last] = [this.samples[0], this.samples[this.samples.length - 1]];
      if (!first || last[1] - first[1] < 500) return [];
      const factor = (1000 * (last[0] - first[0])) / (last[1] - first[1]);
      return [`${factor.toFixed(factor < 0.1 ? 3 : 2)} x real time`];
    }
  }

  function live() {
    const stage = new Stage();
    let newest = null;
    let shown = { time: NaN };
    let speed = new Speedometer();
    const SCENE = 0;

    function connect() {
      const socket = new WebSocket(`ws://${location.host}/frames`);
      socket.binaryType = "arraybuffer";
      socket.onopen = () => element("hud").classList.remove("ended");
      socket.onmessage = ({ data }) => {
        if (new Uint32Array(data, 0, 1)[0] === SCENE) {
          stage.load(unpackScene(data.slice(4)));
          newest = null;
          speed = new Speedometer();
          return;
        }
        newest = unpackFrame(data, 4, stage.bodies.length);
        if (!Number.isNaN(newest.time)) speed.add(newest.time, performance.now());
      };
      socket.onclose = () => {
        element("hud").classList.add("ended");
        stage.describe(shown.time, ["ended; waiting for the next run"]);
        setTimeout(connect, 1000);
      };
    }

    eachAnimationFrame(stage, () => {
      if (newest === null) return;
      shown = newest;
      newest = null;
      stage.show(shown);
      stage.describe(shown.time, speed.text());
    });
    connect();
    return stage;
  }

  // ---- recordings -----------------------------------------------------------------------

  async function decompress(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  async function replay() {
    const stage = new Stage();
    const scene = unpackScene(await decompress(element("scene").textContent));
    const data = await decompress(element("frames").textContent);
    stage.load(scene);
    const frames = [];
    for (let offset = 0; offset < data.byteLength; offset = frames[frames.length - 1].end) {
      frames.push(unpackFrame(data, offset, scene.bodies.length));
    }
    const [first, last] = [frames[0].time, frames[frames.length - 1].time];
    const [slider, speed] = [element("bar-slider"), element("bar-speed")];
    let [time, playing, wall, index] = [first, frames.length > 1, null, 0];
    let shown = null;
    element("bar").hidden = false;
    slider.min = first;
    slider.max = last;

    function show() {
      while (index > 0 && frames[index].time > time) index -= 1;
      while (index + 1 < frames.length && frames[index + 1].time <= time) index += 1;
      const [now, next] = [frames[index], frames[index + 1]];
      const fraction = next ? (time - now.time) / Math.max(next.time - now.time, 1e-9) : 0;
      stage.show(now, next, Math.min(Math.max(fraction, 0), 1));
      stage.describe(time, []);
      slider.value = time;
      element("bar-time").textContent = `${time.toFixed(2)} / ${last.toFixed(2)} s`;
    }

    function toggle() {
      playing = !playing;
      if (playing && time >= last) time = first;
    }

    function step(frame) {
      playing = false;
      time = frames[Math.min(Math.max(frame, 0), frames.length - 1)].time;
    }

    element("bar-play").onclick = toggle;
    slider.oninput = () => {
      playing = false;
      time = Number(slider.value);
    };
    window.addEventListener("keydown", (event) => {
      const action = { " ": toggle, ArrowLeft: () => step(index - 1), ArrowRight: () => step(index + 1) }[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    });
    eachAnimationFrame(stage, (now) => {
      if (playing && wall !== null) time += (Number(speed.value) * (now - wall)) / 1000;
      wall = now;
      if (time > last) [time, playing] = [last, false];
      if (time !== shown || !stage.settled) show();
      shown = time;
      element("bar-play").classList.toggle("playing", playing);
    });
    return stage;
  }

  return { live, replay };
})();
