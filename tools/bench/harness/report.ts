import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import type { Goal, Outcome } from './compare.ts'

/** A missing measurement: this machine lacks something, or the measurement failed. */
interface Unmeasured {
  readonly goalNumber: string
  readonly name: string
  readonly verdict: 'not run' | 'failed'
  readonly why: string
}

export type Row = Outcome | Unmeasured

const head = ['Goal', 'What', 'Ours', 'Other', 'Ratio', 'Spread', 'Should be', '']

/** The rows as a Markdown table. */
export function table(rows: readonly Row[]): string {
  return [head, head.map(() => '---'), ...rows.map(cellsOf)].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

/** Writes the rows with the machine and the time of the run. */
export function writeReport(path: string, rows: readonly Row[], settings: object): void {
  const processors = cpus()
  const machine = { cores: processors.length, model: processors[0]?.model, node: process.version }
  writeFileSync(
    path,
    `${JSON.stringify({ at: new Date().toISOString(), machine, settings, outcomes: rows }, undefined, 2)}\n`,
  )
}

function cellsOf(row: Row): readonly string[] {
  if (!('ratio' in row)) return [row.goalNumber, row.name, '', '', '', '', '', `${row.verdict}: ${row.why}`]
  const { goalNumber, name, unit, ours, other, ratio, spread, goal, verdict } = row
  const sides = [ours, other].map((side) => `${side.name}: ${figure(side.median)}`)
  return [
    goalNumber,
    `${name}, ${unit}`,
    ...sides,
    ratio.toPrecision(3),
    Number.isNaN(spread) ? '' : `${(spread * 100).toFixed(0)} %`,
    inWords(goal),
    verdict,
  ]
}

function inWords(goal: Goal): string {
  switch (goal.kind) {
    case 'at-least':
      return `≥ ${goal.ratio.toFixed(2)}`
    case 'at-most':
      return `≤ ${goal.ratio.toFixed(2)}`
    case 'between':
      return `${goal.least} to ${goal.most}`
    case 'none':
      return 'no goal'
  }
}

function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3)
}
