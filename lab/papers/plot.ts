import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import type { Chart } from "./study.ts";

/** Colours of lines in a light and in a dark page, both with enough contrast. */
const COLOURS = [
  ["#0969da", "#58a6ff"],
  ["#bc4c00", "#f0883e"],
  ["#1a7f37", "#3fb950"],
  ["#8250df", "#bc8cff"],
  ["#bf3989", "#f778ba"],
  ["#57606a", "#8b949e"],
] as const;
const INK = ["#1f2328", "#e6edf3"] as const;

/**
 * Draws the chart as SVG with colours of its own for a dark page. Attributes hold the light colours, which any viewer
 * draws; the style sheet replaces them for readers who prefer dark.
 */
export async function svgOf(chart: Chart): Promise<string> {
  if (chart.lines.length > COLOURS.length) throw new RangeError(`svgOf: ${chart.lines.length} lines, too few colours`);
  const svg = await new View(parse(compile(specOf(chart)).spec), { renderer: "none" }).toSVG();
  const dark = COLOURS.map(([light, other]) => `[stroke="${light}"]{stroke:${other}}[fill="${light}"]{fill:${other}}`);
  const style = `<style>svg{color:${INK[0]}}@media (prefers-color-scheme: dark){svg{color:${INK[1]}}${dark.join("")}}</style>`;
  return `${svg.replace(/^<svg [^>]*>/, (opening) => `${opening}<title>${escaped(chart.title)}</title>${style}`)}\n`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

function specOf({ title, x, y, lines }: Chart): TopLevelSpec {
  const values = lines.flatMap(({ name, points }) => points.map(([at, value]) => ({ name, x: at, y: value })));
  const domain = lines.map(({ name }) => name);
  const ink = { labelColor: "currentColor", titleColor: "currentColor", labelFontSize: 12, titleFontSize: 12 };
  return {
    title: { text: title, anchor: "start", color: "currentColor", fontSize: 14 },
    width: 460,
    height: 260,
    data: { values },
    mark: { type: "line", point: { size: 50, filled: true } },
    encoding: {
      x: {
        field: "x",
        type: "quantitative",
        title: x.title,
        scale: { domain: [Math.min(...x.values), Math.max(...x.values)] },
        axis: { values: [...x.values], format: "~g" },
      },
      y: { field: "y", type: "quantitative", title: y.title, scale: { domain: [0, y.most] } },
      color: { field: "name", type: "nominal", title: null, scale: { domain, range: COLOURS.map(([light]) => light) } },
      strokeDash: { field: "name", type: "nominal", title: null, scale: { domain } },
      shape: { field: "name", type: "nominal", title: null, scale: { domain } },
    },
    config: {
      background: "transparent",
      axis: {
        ...ink,
        gridColor: "currentColor",
        gridOpacity: 0.15,
        domainColor: "currentColor",
        tickColor: "currentColor",
      },
      legend: { ...ink, labelLimit: 260 },
      view: { stroke: null },
    },
  };
}
