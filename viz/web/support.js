// What a browser must have, told in a sentence if it has not. Older ones understand this script alone.

(function () {
  function lacking() {
    var names = [];
    try {
      var canvas = document.createElement("canvas");
      if (!(canvas.getContext("webgl2") || canvas.getContext("webgl"))) names.push("WebGL");
    } catch (error) {
      names.push("WebGL");
    }
    // Of pages with a recording inside.
    if (typeof DecompressionStream === "undefined") names.push("DecompressionStream");
    return names;
  }

  function tell(what) {
    if (document.getElementById("unsupported")) return;
    var shown = document.createElement("p");
    shown.id = "unsupported";
    shown.style.cssText = "position:fixed;inset:0;top:0;left:0;width:100%;height:100%;margin:0;padding:20%;" +
      "box-sizing:border-box;background:#fff;color:#24303c;font:18px/1.5 sans-serif;z-index:99";
    shown.appendChild(document.createTextNode("This browser has no " + what + ": open this page in a newer " +
      "Chrome, Edge, Firefox or Safari, with hardware acceleration turned on."));
    document.body.appendChild(shown);
  }

  var names = lacking();
  if (names.length) tell(names.join(" and no "));
  window.addEventListener("error", function (event) {
    // A script that is not understood: nothing of it has run.
    if (/SyntaxError/.test(String(event.message))) tell("current JavaScript");
  });
})();
