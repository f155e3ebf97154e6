// Unpacks messages from the server or from a recording; viz/scene.py describes their layout.
"use strict";

const ARRAYS = { Float32Array, Uint32Array, Uint16Array, Int16Array };

function unpackScene(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const scene = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const base = 4 + length;
  scene.array = ([type, offset, count]) => new ARRAYS[type](buffer, base + offset, count);
  scene.bytes = ([, offset, count]) => new Uint8Array(buffer, base + offset, count);
  return scene;
}

function unpackFrame(buffer, offset, nBodies) {
  const [time, nContacts, nPulls, nViolations] = new Float32Array(buffer, offset, 4);
  let end = offset + 16;
  const take = (count) => {
    const values = new Float32Array(buffer, end, count);
    end += 4 * count;
    return values;
  };
  return {
    time,
    poses: take(7 * nBodies),
    contacts: take(6 * nContacts),
    pulls: take(9 * nPulls),
    violations: take(nViolations),
    end,
  };
}

// Blocks of samples: a chart's number, how many numbers follow, and these.
function unpackRows(buffer, offset, take) {
  for (let at = offset; at < buffer.byteLength;) {
    const [chart, count] = new Uint32Array(buffer, at, 2);
    take(chart, new Float32Array(buffer, at + 8, count));
    at += 8 + 4 * count;
  }
}

function unpackDocument(buffer) {
  const length = new DataView(buffer).getUint32(4, true);
  const decoder = new TextDecoder();
  const name = decoder.decode(new Uint8Array(buffer, 8, length));
  const text = decoder.decode(new Uint8Array(buffer, 8 + length));
  return { name, content: text ? JSON.parse(text) : null };
}

function unpackPoints(text) {
  return new Float32Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
}
