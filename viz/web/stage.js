// The scene: bodies, ground, sky, light and the camera, on top of meshcat's viewer.
"use strict";

const THEMES = {
  light: {
    haze: [0.88, 0.91, 0.94], zenith: [0.6, 0.71, 0.82], tiles: ["#cfd6dd", "#bac5cf"], sun: 0.72, sky: 0.62, rim: 0,
  },
  dark: {
    haze: [0.13, 0.155, 0.185], zenith: [0.055, 0.07, 0.09], tiles: ["#39424d", "#2f3741"], sun: 0.68, sky: 0.5, rim: 0.5,
  },
};
const RESERVED = [112, 60]; // pixels of a phone's picture, above and below
const GHOST_COLORS = [[0.13, 0.45, 0.85], [0.85, 0.35, 0.1], [0.2, 0.6, 0.3]];

class Stage {
  constructor() {
    this.viewer = new MeshCat.Viewer(element("meshcat-pane"));
    const { viewer } = this;
    viewer.renderer.outputEncoding = THREE.sRGBEncoding;
    viewer.camera.fov = 40;
    viewer.set_property(["Grid"], "visible", false);
    viewer.set_property(["Axes"], "visible", false);
    viewer.gui.removeFolder(viewer.animator.folder); // recordings are played by the bar instead
    viewer.gui.domElement.style.display = "none"; // the Y key shows it: a tree of all objects
    viewer.delete_path(["Lights"]);
    this.sun = new THREE.DirectionalLight(0xfffaf2, 0.72);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.radius = 3;
    this.sun.shadow.normalBias = 0.002;
    viewer.set_object(["Lights", "Sun"], this.sun);
    viewer.scene.add(this.sun.target);
    this.light = new THREE.HemisphereLight(0xf4f8ff, 0x98a0a8, 0.62);
    viewer.set_object(["Lights", "Sky"], this.light);
    this.followed = new THREE.Vector3();
    this.detailed = true;
    this.pixelRatio = viewer.renderer.getPixelRatio();
    this.follow = true;
    this.theme = null;
    // Until someone moves the camera, it keeps the robot in a window whose size changes.
    viewer.controls.addEventListener("start", () => { this.aimed = true; });
    viewer.dom_element.addEventListener("wheel", () => { this.aimed = true; });
    window.addEventListener("resize", () => {
      // meshcat uses the height of the window as that of its pane.
      const { offsetWidth, offsetHeight } = element("meshcat-pane");
      viewer.set_3d_pane_size(offsetWidth, offsetHeight);
      if (this.placed && !this.aimed) requestAnimationFrame(() => this.resetCamera());
    });
    this.setTheme(document.documentElement.dataset.theme);
  }

  setTheme(name) {
    if (name === this.theme) return;
    this.theme = name;
    const { haze, zenith, sun, sky, rim } = THEMES[name];
    RIM.value = rim;
    const { viewer } = this;
    // meshcat paints the background too, where the sky is not yet.
    viewer.set_property(["Background"], "top_color", zenith);
    viewer.set_property(["Background"], "bottom_color", haze);
    viewer.scene.background = srgb(...haze);
    if (this.sky) viewer.scene.remove(this.sky);
    this.sky = buildSky(srgb(...haze), srgb(...zenith));
    viewer.scene.add(this.sky);
    // This three.js mixes the fog in after the conversion to sRGB.
    viewer.scene.fog = new THREE.Fog(srgb(...haze).convertLinearToSRGB(), 10, 100);
    this.sun.intensity = sun;
    this.light.intensity = sky;
    if (this.ground) this.addGround();
    this.moved = undefined;
    if (this.placed) this.moveAlong();
    viewer.set_dirty();
  }

  // Without detail: no shadows (see Layers), half the resolution, and an unfiltered ground.
  setDetail(full) {
    this.detailed = full;
    const { renderer } = this.viewer;
    renderer.setPixelRatio(full ? this.pixelRatio : 0.5 * this.pixelRatio);
    if (this.ground) this.addGround();
    this.viewer.set_dirty();
  }

  load(scene) {
    const { viewer } = this;
    this.scene = scene;
    this.placed = false;
    document.title = `${scene.name} - robosim`;
    element("hud-name").textContent = scene.name;
    for (const path of ["robot", "ghosts", "ground"]) {
      if (path in viewer.scene_tree.children) viewer.delete_path([path]);
    }
    this.ground = null;
    this.geometries = scene.geometries.map((description) => buildGeometry(scene, description));
    const materials = new Map();
    const onLoad = () => viewer.set_dirty();
    const own = (shape) => buildMaterial(scene, shape, materials, onLoad);
    this.bodies = scene.bodies.map((body, index) => {
      const group = this.buildBody(body.shapes, own);
      for (const mesh of group.children) mesh.userData.body = index;
      viewer.set_object(["robot", body.name], group);
      return group;
    });
    this.lines = null;
    if (scene.lines.length) {
      const rod = new THREE.CylinderGeometry(1, 1, 1, 8).translate(0, 0.5, 0);
      const material = new THREE.MeshStandardMaterial({ color: srgb(0.55, 0.57, 0.6), roughness: 0.6 });
      this.lines = new THREE.InstancedMesh(rod, material, scene.lines.length);
      this.lines.frustumCulled = false;
      this.lines.castShadow = true;
      viewer.set_object(["robot", "(springs)"], this.lines);
    }
    this.skins = scene.skins.map((skin) => {
      const geometry = new THREE.BufferGeometry().setIndex(skin.faces);
      geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * skin.nodes.length), 3));
      const material = new THREE.MeshStandardMaterial({
        color: srgb(0.3, 0.65, 0.55), roughness: 0.6, side: THREE.DoubleSide, flatShading: true,
      });
      const mesh = new THREE.Mesh(geometry, material);
      mesh.frustumCulled = false;
      mesh.castShadow = mesh.receiveShadow = true;
      viewer.set_object(["robot", `(soft) ${skin.name}`], mesh);
      return mesh;
    });
    if (scene.fixed.length) viewer.set_object(["robot", "(fixed to the world)"], this.buildBody(scene.fixed, own));
    scene.ghosts.forEach((name, k) => {
      const color = srgb(...GHOST_COLORS[k % GHOST_COLORS.length]);
      const pale = new THREE.MeshStandardMaterial({
        color, transparent: true, opacity: 0.38, roughness: 0.7, depthWrite: false,
      });
      scene.bodies.forEach((body) => {
        const group = this.buildBody(body.shapes, () => pale);
        for (const mesh of group.children) mesh.castShadow = false;
        viewer.set_object(["ghosts", name, body.name], group);
        this.bodies.push(group);
      });
    });
    this.robot = this.bodies.slice(0, scene.bodies.length);
  }

  buildBody(shapes, materialOf) {
    const group = new THREE.Group();
    for (const shape of shapes) {
      const mesh = new THREE.Mesh(this.geometries[shape.geometry], materialOf(shape));
      mesh.position.fromArray(shape.position);
      const [w, x, y, z] = shape.quaternion;
      mesh.quaternion.set(x, y, z, w);
      mesh.castShadow = mesh.receiveShadow = true;
      group.add(mesh);
    }
    return group;
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
    this.box = box;
    this.center = box.getCenter(new THREE.Vector3());
    this.size = Math.max(box.getSize(new THREE.Vector3()).length(), 1e-3);
    // A floor that nothing touches is lower than what hangs and swings.
    const through = !scene.solid && box.min.z < -0.02 * this.size;
    this.floor = through ? this.center.z - 1.1 * this.size : 0;
    viewer.camera.near = this.size / 200;
    viewer.camera.far = this.size * 400;
    this.resetCamera();
    const reach = this.size * 1.3;
    Object.assign(this.sun.shadow.camera, {
      left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1 * this.size, far: 12 * this.size,
    });
    this.sun.shadow.camera.updateProjectionMatrix();
    if (scene.ground) this.addGround();
    this.placed = true;
  }

  // Far enough for the robot's height and for its width from any side, with a margin.
  resetCamera() {
    this.aimed = false;
    const { viewer, scene, box } = this;
    const extent = box.getSize(new THREE.Vector3());
    const reachAcross = 0.5 * Math.hypot(extent.x, extent.y);
    const slope = Math.tan((viewer.camera.fov / 2) * (Math.PI / 180));
    const across = reachAcross / (slope * viewer.camera.aspect);
    // On a phone what lies over the picture goes all the way across: the robot stands between.
    const [above, below] = window.matchMedia(PHONE).matches ? RESERVED : [0, 0];
    const height = Math.max(element("meshcat-pane").offsetHeight, 1);
    const share = Math.max(1 - (above + below) / height, 0.3);
    const distance = 1.2 * Math.max((0.5 * extent.z) / (slope * share), across) + reachAcross;
    const eye = new THREE.Vector3(1.0, -0.95, 0.48).setLength(distance).add(this.center);
    if (scene.ground) eye.z = Math.max(eye.z, this.floor + 0.2 * this.size);
    const target = this.center.clone();
    const lift = (distance * slope * (above - below)) / height;
    eye.z += lift;
    target.z += lift;
    // The camera lives in three.js's y-up world; the scene is z-up.
    viewer.camera.position.copy(eye).applyMatrix4(viewer.scene.matrixWorld);
    viewer.controls.target.copy(target).applyMatrix4(viewer.scene.matrixWorld);
    this.followed.copy(this.bodies[0].position);
    this.moved = undefined;
    viewer.set_dirty();
  }

  addGround() {
    const goal = 0.4 * this.size;
    const steps = [1, 2, 5, 10].map((step) => step * 10 ** Math.floor(Math.log10(goal)));
    this.tile = steps.reduce((best, step) => (Math.abs(step - goal) < Math.abs(best - goal) ? step : best));
    const pairs = 100;
    const [light, dark] = THEMES[this.theme].tiles;
    const checks = canvasTexture(256, 256, (context) => {
      context.fillStyle = light;
      context.fillRect(0, 0, 256, 256);
      context.fillStyle = dark;
      context.fillRect(0, 0, 128, 128);
      context.fillRect(128, 128, 128, 128);
    });
    checks.wrapS = checks.wrapT = THREE.RepeatWrapping;
    checks.repeat.set(pairs, pairs);
    checks.anisotropy = this.detailed ? this.viewer.renderer.capabilities.getMaxAnisotropy() : 1;
    const width = 2 * this.tile * pairs;
    // Pushed back a little, so that what rests on it at z = 0 is not drawn through it.
    const material = new THREE.MeshStandardMaterial({
      map: checks, roughness: 0.95, metalness: 0, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1,
    });
    const before = this.ground;
    this.ground = new THREE.Mesh(new THREE.PlaneGeometry(width, width), material);
    this.ground.receiveShadow = true;
    if (before) this.ground.visible = before.visible;
    this.viewer.set_object(["ground"], this.ground);
  }

  // Moves the bodies to a frame, or to poses interpolated by `fraction` between it and `next`.
  pose(frame, next, fraction, passed) {
    const a = frame.poses;
    const b = next ? next.poses : a;
    const [point, turn] = [new THREE.Vector3(), new THREE.Quaternion()];
    this.bodies.forEach((body, index) => {
      const k = 7 * index;
      body.position.set(a[k], a[k + 1], a[k + 2]);
      body.quaternion.set(a[k + 4], a[k + 5], a[k + 6], a[k + 3]);
      if (next) {
        body.position.lerp(point.set(b[k], b[k + 1], b[k + 2]), fraction);
        body.quaternion.slerp(turn.set(b[k + 4], b[k + 5], b[k + 6], b[k + 3]), fraction);
      }
    });
    if (!this.placed) this.place();
    if (this.lines) this.drawLines();
    this.skins.forEach((mesh, k) => this.drawSkin(mesh, this.scene.skins[k].nodes));
    this.moveAlong(passed);
    this.viewer.set_dirty();
  }

  // Where a point of a body is, or of the world: numbers are [body or -1, x, y, z] from k on.
  put(point, numbers, k) {
    point.fromArray(numbers, k + 1);
    const body = this.bodies[numbers[k]];
    return body ? point.applyQuaternion(body.quaternion).add(body.position) : point;
  }

  // The surface of a soft solid, whose nodes move on their own.
  drawSkin(mesh, nodes) {
    const point = new THREE.Vector3();
    const { position } = mesh.geometry.attributes;
    nodes.forEach((numbers, k) => {
      this.put(point, numbers, 0);
      position.setXYZ(k, point.x, point.y, point.z);
    });
    position.needsUpdate = true;
  }

  // Springs between points, from one end to the other.
  drawLines() {
    const [start, along, scale] = [0, 1, 2].map(() => new THREE.Vector3());
    const [turn, matrix] = [new THREE.Quaternion(), new THREE.Matrix4()];
    this.scene.lines.forEach((numbers, k) => {
      this.put(start, numbers, 0);
      this.put(along, numbers, 4).sub(start);
      const length = along.length();
      if (length > 0) turn.setFromUnitVectors(UP, along.divideScalar(length));
      this.lines.setMatrixAt(k, matrix.compose(start, turn, scale.set(0.0025 * this.size, length, 0.0025 * this.size)));
    });
    this.lines.instanceMatrix.needsUpdate = true;
  }

  // Keeps the camera, the shadow and the ground with a robot that walks away; not while it is held,
  // or else the mouse would point elsewhere. `passed` [ms] since the last time: by the clock, or as told.
  moveAlong(passed) {
    const { viewer } = this;
    const now = performance.now();
    passed ??= this.moved === undefined ? 0 : Math.max(now - this.moved, 0);
    // Closely along the ground, lazily up and down, so that a hop is seen as one.
    const [share, shareUp] = [150, 1000].map((ms) => 1 - Math.exp(-passed / ms));
    this.moved = now;
    this.settled = true;
    if (this.follow && this.scene.follow && !this.held) {
      const step = this.bodies[0].position.clone().sub(this.followed);
      // A fall is not left to go out of the picture.
      const behind = THREE.MathUtils.clamp((1 - shareUp) * step.z, -0.1 * this.size, 0.1 * this.size);
      step.set(share * step.x, share * step.y, step.z - behind);
      this.settled = step.length() < 1e-4 * this.size;
      this.followed.add(step);
      this.center.add(step);
      step.applyMatrix4(viewer.scene.matrixWorld);
      viewer.camera.position.add(step);
      viewer.controls.target.add(step);
      viewer.set_dirty();
    }
    this.sun.target.position.copy(this.center);
    this.sun.position.set(0.55, -0.65, 1).setLength(5 * this.size).add(this.center);
    if (this.ground) {
      const pair = 2 * this.tile;
      this.ground.position.set(
        pair * Math.round(this.center.x / pair), pair * Math.round(this.center.y / pair), this.floor);
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

  // The ray through a place of the window, in the scene's coordinates.
  ray(clientX, clientY) {
    const { viewer } = this;
    const pane = viewer.renderer.domElement.getBoundingClientRect();
    const caster = new THREE.Raycaster();
    caster.setFromCamera(new THREE.Vector2(
      (2 * (clientX - pane.left)) / pane.width - 1, 1 - (2 * (clientY - pane.top)) / pane.height), viewer.camera);
    return caster;
  }

  eachFrame(action) {
    const loop = (now) => {
      requestAnimationFrame(loop);
      action(now);
      this.beforeRender();
    };
    requestAnimationFrame(loop);
  }

  picture() {
    const link = document.createElement("a");
    link.download = `${this.scene.name}.png`;
    link.href = this.viewer.capture_image();
    link.click();
  }
}
