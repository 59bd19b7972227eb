import { html } from './markup.mjs'
import { useTexts } from './texts.mjs'

const width = 240
const height = 60

/**
 * Values of one hour as lines, with the newest values as text.
 *
 * @param {{ name: string, minutes: string[], lines: { name: string, values: number[] }[] }} props
 */
export function Chart({ name, minutes, lines }) {
  const { count } = useTexts()
  const most = Math.max(1, ...lines.flatMap(({ values }) => values))
  const pointsOf = (/** @type {number[]} */ values) =>
    values
      .map(
        (value, index) =>
          `${(index * width) / Math.max(1, values.length - 1)},${height - (value * (height - 2)) / most - 1}`,
      )
      .join(' ')
  const newest = lines.map((line) => `${line.name} ${count(line.values.at(-1) ?? 0)}`).join(', ')
  return html`<figure>
    <figcaption>${name}</figcaption>
    <svg viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${`${name}: ${newest} (${minutes.at(-1) ?? ''})`}>
      ${lines.map((line, index) => html`<polyline class=${`line-${index}`} points=${pointsOf(line.values)} />`)}
    </svg>
    <small>${newest} · max ${count(most)}</small>
  </figure>`
}
