// Cards from which one is chosen, each with the line or script that makes the same.
"use strict";

class Choices {
  constructor(send) {
    this.send = send;
    this.cards = new Map();
    this.chosen = null;
    element("choices-copy").onclick = () => this.copy();
    element("choices-script").onclick = () => this.open(element("choices-line").hidden);
  }

  describe(cards) {
    const { classList } = document.body;
    if (!classList.contains("has-choices")) {
      classList.add("has-choices");
      window.dispatchEvent(new Event("resize")); // the picture is now less high
    }
    this.cards.clear();
    element("choices-cards").replaceChildren(...cards.map((card) => {
      const { name, title, text, picture } = card;
      const button = make("button", { className: "choice", title: card.line },
        make("img", { src: picture, alt: "", width: 120, height: 75 }),
        make("b", { textContent: title }), make("small", { textContent: text }));
      button.onclick = () => {
        button.blur(); // or else the space bar would press it again
        this.mark(name, true);
        this.send({ do: "choose", name });
      };
      this.cards.set(name, { ...card, button });
      return button;
    }));
    if (this.chosen) this.mark(this.chosen, false);
  }

  // The card that is shown, or that is on its way.
  mark(name, asked) {
    this.chosen = name;
    for (const [other, { button }] of this.cards) {
      button.classList.toggle("on", other === name);
      button.classList.toggle("asked", other === name && asked);
      button.setAttribute("aria-pressed", other === name);
    }
    const card = this.cards.get(name);
    if (!card) return;
    const { line, button } = card;
    const script = line.includes("\n");
    element("choices-line").textContent = line;
    element("choices-script").hidden = !script;
    this.open(!script);
    element("choices-copy").textContent = "copy";
    const strip = element("choices-cards");
    strip.scrollTo({ left: button.offsetLeft - (strip.clientWidth - button.offsetWidth) / 2, behavior: "smooth" });
  }

  // A line is always there; a script covers the robot, so it is there when asked for.
  open(shown) {
    element("choices-line").hidden = !shown;
    element("choices-script").textContent = shown ? "hide the script" : "show the script";
  }

  async copy() {
    const { line } = this.cards.get(this.chosen);
    let copied = true;
    try {
      await navigator.clipboard.writeText(line); // refused on pages of other machines, without https
    } catch {
      this.open(true);
      window.getSelection().selectAllChildren(element("choices-line"));
      copied = document.execCommand("copy");
    }
    element("choices-copy").textContent = copied ? "copied" : "press ctrl-C";
  }
}
