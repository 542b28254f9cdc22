"""Opens reports in a real browser, offline, and checks that they work.

    python -m tests.campaigns.report [--keep FOLDER]
    python -m tests.campaigns.report --picture docs/report.png

Evolves a few generations on tasks of every kind and loads each page in headless Chromium: the
console stays empty, every chart and drawing has a size and lines of some length, the episode
follows its slider, and the charts respond to the pointer. --keep stores pages and screenshots.
--picture only draws the README's picture: the upper part of the report of mountain_car.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from evonet.cli.app import main as evonet

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Keeps the browser itself from calling home.
OFFLINE = (
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
)
RUNS = {
    "cartpole": ["--population", "30", "--generations", "4"],
    "mountain_car": ["--population", "80", "--generations", "12"],
    "mountain_car_continuous": ["--population", "30", "--generations", "3"],
    "pendulum": ["--population", "40", "--generations", "5"],
    "acrobot": ["--population", "20", "--generations", "1"],
    "single_pole": ["--population", "20", "--generations", "3"],
    "double_pole": ["--population", "60", "--generations", "15"],
    "copy": ["--population", "60", "--generations", "5"],
    "t_maze": ["--population", "60", "--generations", "5"],
    "xor": ["--population", "100", "--generations", "500"],
    "images": ["--population", "20", "--generations", "3"],
}
CHARTS = (
    "Fitness",
    "Species",
    "Complexity",
    "Milliseconds per generation",
    "Evaluations per second",
)
WITHOUT_EPISODES = ("xor", "images")
MOST_BYTES = 5_000_000

# Runs in the page once it is loaded, and appends its findings to the document.
PROBE = """
<script>
setTimeout(() => {
  const box = (e) => { const b = e.getBoundingClientRect(); return [b.width, b.height]; };
  const transforms = () => [...document.querySelectorAll(".scene .sprite")].map(
    (part) => part.getAttribute("transform")).join();
  const before = transforms(), slider = document.getElementById("step");
  if (slider) {
    slider.value = Number(slider.max) / 2;
    slider.dispatchEvent(new Event("input"));
  }
  const charts = [...document.querySelectorAll("figure.chart svg[role=img]")].filter(
    (svg) => svg.getClientRects().length > 0).map((svg) => {
    const b = svg.getBoundingClientRect();
    const at = { clientX: b.left + b.width / 2, clientY: b.top + b.height / 2, bubbles: true };
    svg.dispatchEvent(new PointerEvent("pointermove", at));
    const tip = document.getElementById("tip"), said = tip.hidden ? "" : tip.textContent;
    svg.dispatchEvent(new PointerEvent("pointerleave", at));
    const drawn = [...svg.querySelectorAll(".line, .layer")].map((e) => e.getTotalLength());
    const inside = b.left >= 0 && b.right <= innerWidth;
    return { name: svg.getAttribute("aria-label"), box: box(svg), drawn, said, inside,
             dots: svg.querySelectorAll(".dot").length };
  });
  setTimeout(() => {
    const found = {
      charts,
      networks: [...document.querySelectorAll(".champion .network")].map(box),
      nodes: document.querySelectorAll(".champion .node").length,
      scenes: [...document.querySelectorAll(".scene")].map(box),
      moved: before !== transforms(),
      rows: document.querySelectorAll(".family tbody tr").length,
      wide: document.documentElement.scrollWidth - innerWidth,
      requests: performance.getEntriesByType("resource").map((entry) => entry.name),
    };
    const note = document.createElement("pre");
    note.id = "found";
    note.textContent = JSON.stringify(found);
    document.body.append(note);
  }, 600);
}, 400);
</script></body>
"""

# Stops the episode at a good moment.
MIDWAY = """
<script>
document.getElementById("step").value = document.getElementById("step").max * 0.8;
document.getElementById("step").dispatchEvent(new Event("input"));
</script>
"""


def find_browser() -> str:
    for name in BROWSERS:
        path = shutil.which(name)
        if path:
            return path
    sys.exit(f"No browser was found. Install one of: {', '.join(BROWSERS)}.")


def browse(browser: str, page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run(
            [
                browser,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--host-resolver-rules=MAP * ~NOTFOUND",
                *OFFLINE,
                f"--user-data-dir={profile}",
                "--enable-logging=stderr",
                "--virtual-time-budget=4000",
                *options,
                page.resolve().as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=180,
            check=True,
        )


def has_species(run: Path) -> bool:
    """Whether a run ever had more than one species: a single one is not drawn."""
    records = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return len({kind["key"] for record in records for kind in record.get("species") or ()}) > 1


def look_at(browser: str, report: Path, width: int) -> list[str]:
    """Loads a page and returns what is wrong with it."""
    probed = report.with_name("probed.html")
    probed.write_text(report.read_text().replace("</body>", PROBE))
    done = browse(browser, probed, "--dump-dom", f"--window-size={width},1000")
    probed.unlink()
    faults = re.findall(r".*CONSOLE.*", done.stderr)
    note = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    if note is None:
        return [*faults, "the page was not probed"]
    found: dict[str, Any] = json.loads(html.unescape(note[1]))
    names = [chart["name"] for chart in found["charts"]]
    expected = [name for name in CHARTS if name != "Species" or has_species(report.parent)]
    if names != expected:
        faults.append(f"there are charts {names} instead of {expected}")
    for chart in found["charts"]:
        if min(chart["box"]) < 100:
            faults.append(f"{chart['name']}: its size is {chart['box']}")
        if not chart["inside"]:
            faults.append(f"{chart['name']}: it does not fit into the window")
        if not chart["dots"] and max(chart["drawn"], default=0) < 100:
            faults.append(f"{chart['name']}: nothing is drawn")
        if not chart["said"].startswith("generation "):
            faults.append(f"{chart['name']}: it shows {chart['said']!r} at the pointer")
    if len(found["networks"]) != 1 or min(found["networks"][0]) < 100 or found["nodes"] < 2:
        faults.append(f"the network is {found['networks']} with {found['nodes']} nodes")
    if found["rows"] < 1:
        faults.append("there is no family line")
    if found["scenes"] and (min(found["scenes"][0]) < 100 or not found["moved"]):
        faults.append(f"the episode is {found['scenes']}, moved: {found['moved']}")
    if found["wide"] > 0:
        faults.append(f"it is {found['wide']} pixels wider than the window")
    if found["requests"]:
        faults.append(f"it asked for {found['requests']}")
    if bool(found["scenes"]) == (report.parent.name in WITHOUT_EPISODES):
        faults.append("an episode is there, or missing, where it should not be")
    return faults


def draw_picture(browser: str, picture: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        run = Path(scratch) / "mountain_car-001"
        if evonet(["evolve", "mountain_car", "--quiet", "--out", str(run)]) != 0:
            sys.exit("evolving mountain_car failed")
        report = run / "report.html"
        report.write_text(report.read_text().replace("</body>", f"{MIDWAY}</body>"))
        options = (f"--screenshot={picture.resolve()}", "--window-size=1280,1010")
        browse(browser, report, *options)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--keep", type=Path, help="where to keep pages and screenshots")
    parser.add_argument("--picture", type=Path, help="where to draw the README's picture")
    arguments = parser.parse_args()
    keep = arguments.keep
    browser = find_browser()
    if arguments.picture:
        draw_picture(browser, arguments.picture)
        return
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, options in RUNS.items():
            run = (keep or Path(scratch)) / name
            if evonet(["evolve", name, "--quiet", "--out", str(run), *options]) != 0:
                sys.exit(f"evolving {name} failed")
            report = run / "report.html"
            faults = [f"{w} wide: {fault}" for w in (1280, 500)
                      for fault in look_at(browser, report, w)]  # fmt: skip
            size = report.stat().st_size
            if size >= MOST_BYTES:
                faults.append(f"it has {size} bytes")
            print(f"{name:24} {size:8,} bytes  {'; '.join(faults) or 'works'}", flush=True)
            failed += bool(faults)
            if keep:
                shot = f"--screenshot={run / 'report.png'}"
                browse(browser, report, shot, "--window-size=1280,2200")
    sys.exit(f"{failed} of {len(RUNS)} pages do not work" if failed else 0)


if __name__ == "__main__":
    main()
