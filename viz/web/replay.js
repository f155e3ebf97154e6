// The page as a file: replays the frames that lie in it.
"use strict";

const TRAIL_BACK = 5; // [s] of a trail that are drawn again after a jump

async function decompress(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

async function replay() {
  dressPage();
  document.body.classList.add("recorded");
  const stage = new Stage();
  const layers = new Layers(stage);
  const charts = new Charts();
  const panel = new Panel(stage, layers, () => {});
  stage.load(unpackScene(await decompress(element("scene").textContent)));
  layers.load(stage.scene);
  panel.loadLayers(stage.scene);
  const data = await decompress(element("frames").textContent);
  const frames = [];
  for (let offset = 0; offset < data.byteLength; offset = frames[frames.length - 1].end) {
    frames.push(unpackFrame(data, offset, stage.bodies.length));
  }
  if (element("rows")) {
    charts.describe(JSON.parse(new TextDecoder().decode(await decompress(element("charts").textContent))));
    charts.samples.take(new Float32Array(await decompress(element("rows").textContent)));
  } else {
    document.body.classList.remove("charts-open");
  }
  const [first, last] = [frames[0].time, frames[frames.length - 1].time];
  const [slider, speed] = [element("bar-slider"), element("bar-speed")];
  let [time, playing, wall, index] = [first, frames.length > 1, null, 0];
  let [shown, posed] = [null, false];
  element("bar").hidden = false;
  slider.min = first;
  slider.max = last;

  function show(passed) {
    const before = index;
    while (index > 0 && frames[index].time > time) index -= 1;
    while (index + 1 < frames.length && frames[index + 1].time <= time) index += 1;
    const [now, next] = [frames[index], frames[index + 1]];
    const fraction = next ? (time - now.time) / Math.max(next.time - now.time, 1e-9) : 0;
    if (layers.ready && layers.shown.trails && (index < before || index > before + 10)) retrace();
    stage.pose(now, next, Math.min(Math.max(fraction, 0), 1), passed);
    layers.show(now);
    element("hud-time").textContent = `t = ${time.toFixed(2)} s`;
    element("hud-note").textContent = layers.told().join("\n");
    slider.value = time;
    element("bar-time").textContent = `${time.toFixed(2)} / ${last.toFixed(2)} s`;
  }

  // Draws the trails of the last seconds again, after a jump.
  function retrace() {
    layers.clearTrails();
    let from = index;
    while (from > 0 && frames[from - 1].time > time - TRAIL_BACK) from -= 1;
    const { follow } = stage;
    stage.follow = false;
    for (const frame of frames.slice(from, index)) {
      stage.pose(frame);
      layers.extendTrails();
    }
    stage.follow = follow;
  }

  function toggle() {
    posed = false;
    playing = !playing;
    if (playing && time >= last) time = first;
  }

  function seek(to) {
    posed = false;
    playing = false;
    time = Math.min(Math.max(to, first), last);
  }

  const step = (frame) => seek(frames[Math.min(Math.max(frame, 0), frames.length - 1)].time);
  element("bar-play").onclick = toggle;
  slider.oninput = () => seek(Number(slider.value));
  panel.on({ " ": toggle, ArrowLeft: () => step(index - 1), ArrowRight: () => step(index + 1) });
  stage.eachFrame((now) => {
    if (playing && wall !== null) time += (Number(speed.value) * (now - wall)) / 1000;
    wall = now;
    if (time > last) [time, playing] = [last, false];
    if (!posed && (time !== shown || !stage.settled)) show();
    shown = time;
    charts.draw(now, time);
    element("bar-play").classList.toggle("playing", playing);
  });
  // For the renderer of videos and for tests: shows a moment at once. The camera follows as it does
  // when the recording plays, however long drawing takes, and is there at once after a jump.
  const exactly = (to) => {
    const passed = to - time;
    seek(to);
    posed = true;
    show(passed >= 0 && passed < 0.5 ? 1000 * passed : Infinity);
    stage.beforeRender();
    stage.viewer.render();
  };
  window.robosim = { stage, layers, panel, charts, seek: exactly, first, last, frames };
}
