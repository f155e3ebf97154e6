// The centre of mass, its projection, and the support polygon: green if it contains that.
"use strict";

const YELLOW = [0.95, 0.75, 0.1];

class Center {
  constructor(group, thin, masses) {
    this.thin = thin;
    this.masses = masses;
    this.ball = new THREE.Mesh(new THREE.SphereGeometry(1.8 * thin, 24, 16), basic(srgb(...YELLOW), 1));
    this.below = new THREE.Mesh(new THREE.CircleGeometry(2 * thin, 24), basic(srgb(...YELLOW), 1));
    this.plumb = new THREE.Line(
      new THREE.BufferGeometry().setFromPoints([new THREE.Vector3(), new THREE.Vector3(0, 0, 1)]),
      new THREE.LineBasicMaterial({ color: srgb(0.85, 0.62, 0.05) }));
    this.support = new THREE.Mesh(new THREE.BufferGeometry(), basic(srgb(0.2, 0.65, 0.3), 0.4));
    this.support.material.side = THREE.DoubleSide;
    this.support.frustumCulled = false;
    for (const part of [this.ball, this.below, this.plumb]) {
      part.material.depthTest = false;
      part.material.transparent = true; // drawn last, and so through what hides it
      part.renderOrder = 12;
    }
    group.add(this.ball, this.below, this.plumb, this.support);
  }

  show(bodies, contacts) {
    const center = new THREE.Vector3();
    this.masses.forEach((mass, k) => center.addScaledVector(bodies[k].position, mass));
    center.divideScalar(this.masses.reduce((sum, mass) => sum + mass, 0));
    const feet = [];
    for (let k = 0; k < contacts.length; k += 6) {
      if (contacts[k + 5] > 0) feet.push(new THREE.Vector3().fromArray(contacts, k));
    }
    const floor = feet.length ? feet.reduce((sum, foot) => sum + foot.z, 0) / feet.length : 0;
    this.ball.position.copy(center);
    this.below.position.set(center.x, center.y, floor + 0.1 * this.thin);
    this.plumb.position.copy(this.below.position);
    this.plumb.scale.z = Math.max(center.z - floor, 1e-6);
    this.span(convexHull(feet), center, floor);
  }

  span(hull, center, floor) {
    const { support } = this;
    support.visible = hull.length > 2;
    if (!support.visible) return;
    const corners = hull.map((corner) => new THREE.Vector3(corner.x, corner.y, floor + 0.05 * this.thin));
    const inside = corners.every((a, k) => {
      const b = corners[(k + 1) % corners.length];
      return (b.x - a.x) * (center.y - a.y) - (b.y - a.y) * (center.x - a.x) >= 0;
    });
    support.geometry.dispose();
    support.geometry = new THREE.BufferGeometry().setFromPoints(corners);
    support.geometry.setIndex(corners.slice(2).flatMap((_, k) => [0, k + 1, k + 2]));
    support.material.color.copy(inside ? srgb(0.2, 0.65, 0.3) : srgb(0.85, 0.2, 0.2));
  }
}

// The corners of the convex hull of points (x, y), counter-clockwise.
function convexHull(points) {
  const sorted = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
  const cross = (o, a, b) => (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
  const half = (list) => {
    const chain = [];
    for (const point of list) {
      while (chain.length > 1 && cross(chain[chain.length - 2], chain[chain.length - 1], point) <= 0) chain.pop();
      chain.push(point);
    }
    return chain.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}
