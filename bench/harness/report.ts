import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import type { Outcome } from './compare.ts'

const HEAD = ['What', 'Ours', 'Other', 'Ratio', 'Spread', 'Goal', '']

/** The outcomes as a Markdown table. */
export function table(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map(({ name, unit, ours, other, ratio, spread, goal, verdict }) => [
    `${name}, ${unit}`,
    `${ours.name}: ${figure(ours.median)}`,
    `${other.name}: ${figure(other.median)}`,
    ratio.toFixed(2),
    `${(spread * 100).toFixed(0)} %`,
    goal,
    verdict,
  ])
  return [HEAD, HEAD.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

/** Writes outcomes with the machine and time they are from. */
export function writeReport(path: string, outcomes: readonly Outcome[], settings: object): void {
  const processors = cpus()
  const machine = { cores: processors.length, model: processors[0]?.model, node: process.version }
  writeFileSync(path, `${JSON.stringify({ at: new Date().toISOString(), machine, settings, outcomes }, undefined, 2)}\n`)
}

function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3)
}
