// Meshes, materials, textures and the sky.
"use strict";

const { THREE } = MeshCat;
const element = (id) => document.getElementById(id);

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

// Light at the rims of bodies, so that black bodies are visible on a dark ground; 0: none.
const RIM = { value: 0 };

function addRim(material) {
  material.onBeforeCompile = (shader) => {
    shader.uniforms.rim = RIM;
    shader.fragmentShader = shader.fragmentShader
      .replace("void main() {", "uniform float rim;\nvoid main() {")
      .replace("#include <output_fragment>", `
        float facing = saturate(abs(dot(normal, normalize(vViewPosition))));
        outgoingLight += rim * (0.02 + pow(1.0 - facing, 3.0)) * vec3(0.75, 0.87, 1.0);
        #include <output_fragment>`);
  };
  return material;
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
  cache.set(key, addRim(material));
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
