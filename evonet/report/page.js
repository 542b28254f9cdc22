"use strict";

// Charts: a line at the pointer, and the values of that generation beside it.
const tip = document.getElementById("tip");
for (const figure of document.querySelectorAll("figure.chart")) {
  const svg = figure.querySelector("svg");
  const cursor = figure.querySelector(".cursor");
  const chart = JSON.parse(figure.querySelector("script").textContent);
  const first = chart.x[0], last = chart.x[chart.x.length - 1];
  const place = (x) => chart.from + ((chart.to - chart.from) * (x - first)) / (last - first || 1);

  svg.addEventListener("pointermove", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let near = 0;
    chart.x.forEach((x, i) => {
      if (Math.abs(place(x) - at.x) < Math.abs(place(chart.x[near]) - at.x)) near = i;
    });
    cursor.setAttribute("x1", place(chart.x[near]));
    cursor.setAttribute("x2", place(chart.x[near]));
    cursor.setAttribute("visibility", "visible");
    tip.replaceChildren();
    const title = document.createElement("b");
    title.textContent = "generation " + chart.x[near];
    tip.append(title);
    const present = chart.series.filter((series) => chart.series.length < 8 || series.values[near] > 0);
    for (const series of present.slice(0, 12)) {
      const row = document.createElement("span");
      const name = document.createElement("i"), value = document.createElement("b");
      name.textContent = series.name;
      value.textContent = Number(series.values[near].toPrecision(5)).toLocaleString("en");
      row.append(name, value);
      tip.append(row);
    }
    tip.hidden = false;
    const beyond = event.clientX + 24 + tip.offsetWidth > innerWidth;
    tip.style.left = (beyond ? event.clientX - tip.offsetWidth - 16 : event.clientX + 16) + "px";
    tip.style.top = Math.max(8, event.clientY - tip.offsetHeight / 2) + "px";
  });
  svg.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    tip.hidden = true;
  });
}

// The episode: sprites move, and nodes light up with their values.
const source = document.getElementById("film");
if (source) {
  const film = JSON.parse(source.textContent);
  const sprites = [...document.querySelectorAll(".scene .sprite")];
  const nodes = [...document.querySelectorAll(".network [data-slot]")];
  const button = document.getElementById("play");
  const slider = document.getElementById("step");
  const now = document.getElementById("now");
  const length = film.sprites[0].length - 1;
  let time = 0, playing = true, before = null, rest = 0;

  const show = () => {
    const step = Math.min(Math.floor(time), length);
    const fraction = time - step;
    sprites.forEach((sprite, i) => {
      const a = film.sprites[i][step], b = film.sprites[i][Math.min(step + 1, length)];
      const [x, y, turn, stretch] = a.map((value, k) => value + fraction * (b[k] - value));
      sprite.setAttribute("transform", `translate(${x} ${y}) rotate(${turn}) scale(${stretch} 1)`);
    });
    const lights = film.lights[Math.min(step, film.lights.length - 1)];
    if (lights) {
      for (const node of nodes) {
        const value = lights[node.dataset.slot];
        const hue = value < 0 ? "var(--c2)" : "var(--c1)";
        node.style.fill = `color-mix(in srgb, ${hue} ${Math.abs(value)}%, var(--card))`;
      }
    }
    slider.value = step;
    now.value = step;
  };
  const frame = (stamp) => {
    if (playing && before !== null) {
      time += (film.rate * Math.min(stamp - before, 100)) / 1000;
      if (time >= length) {
        // Pause at the end, then start again.
        time = length;
        rest += stamp - before;
        if (rest > 1500) time = rest = 0;
      }
      show();
    }
    before = stamp;
    requestAnimationFrame(frame);
  };
  const play = (wanted) => {
    playing = wanted;
    button.textContent = wanted ? "❚❚" : "▶";
  };
  button.addEventListener("click", () => play(!playing));
  slider.addEventListener("input", () => {
    play(false);
    time = Number(slider.value);
    show();
  });
  play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  show();
  requestAnimationFrame(frame);
}
