// The page as a file: replays the frames that the file contains.
"use strict";

const TRAIL_BACK = 5; // [s] of a trail that are drawn again after a jump

async function decompress(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// Shows the frame at the time of a timeline.
function showMoment(timeline, stage, layers, card, passed) {
  const { now, next, fraction, jumped } = timeline.at();
  if (layers.ready && layers.shown.trails && jumped) retrace(timeline, stage, layers);
  stage.pose(now, next, fraction, passed);
  layers.show(now);
  card.follow(now, next);
}

// Draws the trails of the last seconds again, after a jump.
function retrace(timeline, stage, layers) {
  layers.clearTrails();
  const { follow } = stage;
  stage.follow = false;
  for (const frame of timeline.before(TRAIL_BACK)) {
    stage.pose(frame);
    layers.extendTrails();
  }
  stage.follow = follow;
}

async function replay() {
  dressPage();
  document.body.classList.add("recorded");
  const stage = new Stage();
  const layers = new Layers(stage);
  const charts = new Charts();
  const panel = new Panel(stage, layers, () => {});
  const card = new Card(stage, () => {});
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
  let [shown, posed] = [null, false];
  const timeline = new Timeline(frames, () => { posed = false; });
  timeline.playing = frames.length > 1;
  const { first, last } = timeline;
  element("bar").hidden = false;
  new Pointer(stage, card, () => {});

  function show(passed) {
    const { time } = timeline;
    showMoment(timeline, stage, layers, card, passed);
    element("hud-time").textContent = `t = ${time.toFixed(2)} s`;
    element("hud-note").textContent = layers.told().join("\n");
    timeline.write(first, last, `${time.toFixed(2)} / ${last.toFixed(2)} s`);
  }

  panel.on({ " ": () => timeline.toggle(), ArrowLeft: () => timeline.step(-1), ArrowRight: () => timeline.step(1) });
  stage.eachFrame((now) => {
    timeline.advance(now);
    if (!posed && (timeline.time !== shown || !stage.settled || card.changed)) show();
    shown = timeline.time;
    charts.draw(now, timeline.time, true);
  });
  // For the renderer of videos and for tests: shows the frame at a time. The camera follows as when
  // the recording plays, independently of drawing times, and at once after a jump.
  const exactly = (to) => {
    const passed = to - timeline.time;
    timeline.seek(to);
    posed = true;
    show(passed >= 0 && passed < 0.5 ? 1000 * passed : Infinity);
    stage.beforeRender();
    stage.viewer.render();
  };
  window.robosim = { stage, layers, panel, charts, card, timeline, seek: exactly, first, last, frames };
}
