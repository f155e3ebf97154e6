// Markers, lines, arrows, texts and clouds of points that a script has put into the scene.
"use strict";

class Items {
  constructor(stage) {
    this.stage = stage;
    this.known = new Set();
  }

  put(name, item) {
    const { viewer } = this.stage;
    if (this.known.delete(name)) viewer.delete_path(["items", name]);
    if (item) {
      this.known.add(name);
      viewer.set_object(["items", name], this.build(item));
    }
    viewer.set_dirty();
  }

  clear() {
    for (const name of [...this.known]) this.put(name, null);
  }

  build(item) {
    const color = new THREE.Color(item.color).convertSRGBToLinear();
    const at = new THREE.Vector3().fromArray(item.position || [0, 0, 0]);
    if (item.kind === "arrow") {
      const vector = new THREE.Vector3().fromArray(item.vector);
      const arrow = new Arrow(color);
      arrow.set(at, vector, 0.03 * vector.length());
      return arrow;
    }
    if (item.kind === "text") {
      const sprite = label(item.text, item.color);
      sprite.position.copy(at);
      return sprite;
    }
    if (item.kind === "marker") {
      const ball = new THREE.Mesh(
        new THREE.SphereGeometry(item.size, 24, 16), new THREE.MeshStandardMaterial({ color, roughness: 0.5 }));
      ball.castShadow = true;
      ball.position.copy(at);
      return ball;
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(unpackPoints(item.points), 3));
    if (item.kind === "line") return new THREE.Line(geometry, new THREE.LineBasicMaterial({ color }));
    return new THREE.Points(geometry, new THREE.PointsMaterial({ color, size: item.size, sizeAttenuation: false }));
  }
}
