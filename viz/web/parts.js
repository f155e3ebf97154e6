// Parts of layers and items: arrows, texts, trails, instanced shapes.
"use strict";

const UP = new THREE.Vector3(0, 1, 0);

function basic(color, opacity) {
  return new THREE.MeshBasicMaterial({ color, transparent: opacity < 1, opacity, depthWrite: opacity === 1 });
}

// The same object, also visible through what hides it.
function seeThrough(object) {
  object.traverse((part) => {
    if (!part.material) return;
    part.material.depthTest = false;
    part.material.transparent = true;
    part.renderOrder = 11;
  });
  return object;
}

// A text that faces the camera and keeps its size on the screen.
function label(text, color) {
  const size = 44;
  const measure = document.createElement("canvas").getContext("2d");
  const font = `600 ${size}px system-ui, sans-serif`;
  measure.font = font;
  const width = Math.ceil(measure.measureText(text).width) + 36;
  const texture = canvasTexture(width, 70, (context) => {
    context.fillStyle = "rgba(255, 255, 255, 0.86)";
    context.beginPath();
    context.roundRect(0, 0, width, 70, 18);
    context.fill();
    context.font = font;
    context.fillStyle = color;
    context.textBaseline = "middle";
    context.fillText(text, 18, 37);
  });
  const material = new THREE.SpriteMaterial({ map: texture, depthTest: false, sizeAttenuation: false, fog: false });
  const sprite = new THREE.Sprite(material);
  sprite.scale.set((0.021 * width) / 70, 0.021, 1);
  sprite.renderOrder = 20;
  return sprite;
}

// An arrow of unit length along y, to be scaled.
class Arrow extends THREE.Group {
  constructor(color) {
    super();
    const material = new THREE.MeshStandardMaterial({ color, roughness: 0.5 });
    this.shaft = new THREE.Mesh(new THREE.CylinderGeometry(1, 1, 1, 16).translate(0, 0.5, 0), material);
    this.head = new THREE.Mesh(new THREE.ConeGeometry(1, 1, 20).translate(0, 0.5, 0), material);
    this.add(this.shaft, this.head);
  }

  set(start, vector, thin) {
    const length = vector.length();
    this.visible = length > 1e-9;
    if (!this.visible) return;
    const tip = Math.min(5 * thin, 0.5 * length);
    this.position.copy(start);
    this.quaternion.setFromUnitVectors(UP, vector.clone().divideScalar(length));
    this.shaft.scale.set(thin, length - tip, thin);
    this.head.position.set(0, length - tip, 0);
    this.head.scale.set(2.2 * thin, tip, 2.2 * thin);
  }
}

// The trail of a point: its newest positions.
class Trail {
  constructor(color) {
    this.places = new Float32Array(3 * Trail.longest);
    this.count = 0;
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(this.places, 3));
    this.line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color }));
    this.line.frustumCulled = false;
    this.clear();
  }

  clear() {
    this.count = 0;
    this.line.geometry.setDrawRange(0, 0);
  }

  add(point, least) {
    const { places } = this;
    const last = 3 * (this.count - 1);
    const moved = this.count && Math.hypot(point.x - places[last], point.y - places[last + 1], point.z - places[last + 2]);
    if (this.count && moved < least) return;
    if (this.count === Trail.longest) {
      places.copyWithin(0, 3 * (Trail.longest / 4));
      this.count -= Trail.longest / 4;
    }
    point.toArray(places, 3 * this.count);
    this.count += 1;
    this.line.geometry.setDrawRange(0, this.count);
    this.line.geometry.attributes.position.needsUpdate = true;
  }
}
Trail.longest = 2000;

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
