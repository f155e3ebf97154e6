// Frames by their times: those of a recording, or of the last minute of a run, and the bar for them.
"use strict";

const KEPT = 60; // [s] of a run, to go back to
const MOST_FRAMES = 4000;
const MOST_NUMBERS = 8e6; // float32 of all frames

class Timeline {
  constructor(frames, changed) {
    Object.assign(this, { frames, changed });
    [this.time, this.index, this.playing, this.wall] = [this.first, 0, false, null];
    element("bar-play").onclick = () => this.toggle();
    element("bar-slider").oninput = (event) => this.seek(Number(event.target.value));
  }

  get first() {
    return this.frames.length ? this.frames[0].time : 0;
  }

  get last() {
    return this.frames.length ? this.frames[this.frames.length - 1].time : 0;
  }

  seek(to) {
    this.playing = false;
    this.time = Math.min(Math.max(to, this.first), this.last);
    this.changed();
  }

  step(by) {
    this.seek(this.frames[Math.min(Math.max(this.index + by, 0), this.frames.length - 1)].time);
  }

  toggle() {
    this.playing = !this.playing;
    if (this.playing && this.time >= this.last) this.time = this.first;
    this.changed();
  }

  // Advances the time by the clock.
  advance(now) {
    if (this.playing && this.wall !== null) this.time += (Number(element("bar-speed").value) * (now - this.wall)) / 1000;
    this.wall = now;
    if (this.time > this.last) [this.time, this.playing] = [this.last, false];
    element("bar-play").classList.toggle("playing", this.playing);
  }

  // The frames before and after the time, the fraction between both, and whether the time jumped.
  at() {
    const { frames, time } = this;
    const before = this.index;
    this.index = Math.min(this.index, frames.length - 1);
    while (this.index > 0 && frames[this.index].time > time) this.index -= 1;
    while (this.index + 1 < frames.length && frames[this.index + 1].time <= time) this.index += 1;
    const [now, next] = [frames[this.index], frames[this.index + 1]];
    const fraction = next ? (time - now.time) / Math.max(next.time - now.time, 1e-9) : 0;
    return { now, next, fraction: Math.min(Math.max(fraction, 0), 1), jumped: this.index < before || this.index > before + 10 };
  }

  // Frames of the last seconds before the time.
  before(seconds) {
    let from = this.index;
    while (from > 0 && this.frames[from - 1].time > this.time - seconds) from -= 1;
    return this.frames.slice(from, this.index);
  }

  write(first, last, said) {
    const slider = element("bar-slider");
    [slider.min, slider.max, slider.value] = [first, last, this.time];
    element("bar-time").textContent = said;
  }
}

// The frames of the last minute of a run. If `past`, the page shows an earlier frame.
class Recent extends Timeline {
  constructor() {
    super([], () => { this.begin(); });
    this.past = false;
    element("bar-live").onclick = () => this.leave();
  }

  clear() {
    this.frames = [];
    this.index = 0;
    this.leave();
  }

  add(frame) {
    if (Number.isNaN(frame.time)) return;
    const { frames } = this;
    if (frames.length && frame.time < this.last) this.clear(); // a new run
    if (frames.length && frame.time === this.last) this.frames.pop(); // posed anew
    this.frames.push(frame);
    if (!this.past) this.trim(frame);
    else if (this.frames.length > 3 * MOST_FRAMES) this.clear();
  }

  // Several at a time, as removing the first element of an array moves all others.
  trim(frame) {
    const most = Math.min(MOST_FRAMES, Math.floor(MOST_NUMBERS / (frame.poses.length + 100)));
    let gone = Math.max(this.frames.length - most, 0);
    while (gone < this.frames.length - 1 && this.frames[gone].time < frame.time - KEPT) gone += 1;
    if (gone > 50 || this.frames.length - gone > most) this.frames.splice(0, Math.max(gone, 50));
    if (!this.past) this.index = this.frames.length - 1;
  }

  begin() {
    if (!this.past) this.range = [this.first, this.last];
    this.past = true;
    document.body.classList.add("in-the-past");
    if (!this.playing && this.range && this.time >= this.range[1] - 1e-9) this.leave();
  }

  leave() {
    this.past = this.playing = false;
    this.wall = null;
    document.body.classList.remove("in-the-past");
  }

  advance(now) {
    super.advance(now);
    if (this.playing && this.time >= this.last - 0.05) this.leave(); // it has caught up
  }

  tell() {
    if (!this.past) this.time = this.last;
    element("bar").hidden = this.last - this.first < 1;
    if (this.past) this.write(...this.range, `${(this.last - this.time).toFixed(1)} s ago`);
    else this.write(this.first, this.last, "now");
  }
}
