import { RenderFault } from './faults.ts'
import type { BlockParameter, Body, Expression, LoopVariable, Statement } from './tree.ts'

/** Caps on one rendering. Steps bound its time without a clock, so a busy machine never fails a small template. */
const mostSteps = 20_000
const longestOutput = 262_144
/** Comparing long texts takes time: a step for each of so many characters. */
const charactersOfStep = 256

/** What the renderings of one template may still use. */
export interface Budget {
  steps: number
  bytes: number
}

export function fullBudget(): Budget {
  return { steps: mostSteps, bytes: longestOutput }
}

/** A level of the blocks around a statement. Each block adds one, and never copies those outside. */
type Level<Members> = Readonly<Members> & { readonly outer: Level<Members> | undefined }

interface Scope {
  readonly current: Level<{ value: unknown }>
  readonly parameters: Level<Record<BlockParameter, unknown>> | undefined
  /** The place in the innermost list. */
  readonly place: Level<Record<LoopVariable, unknown>> | undefined
}

type Loop = Extract<Statement, { kind: 'each' | 'with' }>
type Path = Extract<Expression, { kind: 'path' }>

/**
 * Runs a template, as Handlebars does. It reads own members of JSON values only, and calls nothing.
 *
 * @param escape applied to everything that comes from a variable
 * @throws RenderFault
 */
export function interpret(body: Body, variables: object, escape: (text: string) => string, budget: Budget): string {
  const output: string[] = []
  runAll(body, { current: { value: variables, outer: undefined }, parameters: undefined, place: undefined })
  return output.join('')

  function runAll(statements: Body, scope: Scope): void {
    for (const statement of statements) run(statement, scope)
  }

  function run(statement: Statement, scope: Scope): void {
    spend(1)
    switch (statement.kind) {
      case 'text':
        return write(statement.text)
      case 'print': {
        const text = printed(valueOf(statement.value, scope), statement.value)
        // Escaping makes a text longer, so a text beyond the cap need not be escaped.
        return write(text.length > budget.bytes ? text : escape(text))
      }
      case 'if': {
        const isMet = isTruthy(valueOf(statement.condition, scope)) !== statement.isNegated
        return runAll(isMet ? statement.body : statement.otherwise, scope)
      }
      case 'with': {
        const value = valueOf(statement.of, scope)
        if (isEmpty(value)) return runAll(statement.otherwise, scope)
        spendOn(value)
        return runAll(statement.body, inside(scope, value, statement.hasParameters))
      }
      case 'each':
        return runEach(statement, scope)
    }
  }

  function runEach({ of, hasParameters, body, otherwise }: Loop, scope: Scope): void {
    const list = valueOf(of, scope)
    if (typeof list !== 'object' || list === null) return runAll(otherwise, scope)
    const keys = Array.isArray(list) ? undefined : Object.keys(list)
    const length = keys?.length ?? (Array.isArray(list) ? list.length : 0)
    spend(length)
    if (length === 0) return runAll(otherwise, scope)
    for (let index = 0; index < length; index++) {
      const key = keys?.[index] ?? index
      const item: unknown = Reflect.get(list, key)
      spendOn(item)
      const { current, parameters } = inside(scope, item, hasParameters, key)
      const place = { index, key, first: index === 0, last: index === length - 1, outer: scope.place }
      runAll(body, { current, parameters, place })
    }
  }

  function valueOf(expression: Expression, scope: Scope): unknown {
    switch (expression.kind) {
      case 'literal':
        return expression.value
      case 'lookup': {
        spend(1)
        const key = valueOf(expression.key, scope)
        spendOn(key)
        return isText(key) ? member(valueOf(expression.of, scope), String(key)) : undefined
      }
      case 'path': {
        const { from, up, parts } = expression
        spend(parts.length + up)
        return parts.reduce(member, beginOf(from, up, scope))
      }
    }
  }

  function beginOf(from: Path['from'], up: number, scope: Scope): unknown {
    switch (from) {
      case 'root':
        return variables
      case 'here':
        return outside(scope.current, up)?.value
      case 'item':
      case 'place':
        return outside(scope.parameters, up)?.[from]
      default:
        return outside(scope.place, up)?.[from]
    }
  }

  function write(text: string): void {
    budget.bytes -= Buffer.byteLength(text)
    if (budget.bytes < 0) throw new RenderFault('too-large', 'the output has more than 256 KiB')
    output.push(text)
  }

  function spend(steps: number): void {
    budget.steps -= steps
    if (budget.steps < 0) throw new RenderFault('too-many-steps', 'the rendering takes too many steps')
  }

  function spendOn(value: unknown): void {
    if (typeof value === 'string') spend(Math.floor(value.length / charactersOfStep))
  }
}

/** The text of a value. Null prints nothing; a variable that is not there fails. */
function printed(value: unknown, { text }: Expression): string {
  if (value === undefined) throw new RenderFault('missing-variable', `the variable ${text} is missing`, text)
  if (value === null) return ''
  if (!isText(value)) throw new RenderFault('not-printable', `the variable ${text} is a list or an object`)
  return String(value)
}

function isText(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/** An own member of an object or a list. Nothing else has members. */
export function member(value: unknown, name: string): unknown {
  const isHeld = typeof value === 'object' && value !== null && Object.hasOwn(value, name)
  return isHeld ? Reflect.get(value, name) : undefined
}

function isTruthy(value: unknown): boolean {
  return Boolean(value) && !(Array.isArray(value) && value.length === 0)
}

/** For `with`, the number 0 is a value. */
function isEmpty(value: unknown): boolean {
  return value !== 0 && !isTruthy(value)
}

/** The level so many levels outside. */
function outside<Members>(level: Level<Members> | undefined, up: number): Level<Members> | undefined {
  let found = level
  for (let climbed = 0; climbed < up; climbed++) found = found?.outer
  return found
}

/** The scope within a block of another value. `../` passes over blocks of the same value. */
function inside({ current, parameters, place }: Scope, item: unknown, hasParameters: boolean, key?: unknown): Scope {
  return {
    current: item === current.value ? current : { value: item, outer: current },
    parameters: hasParameters ? { item, place: key, outer: parameters } : parameters,
    place,
  }
}
