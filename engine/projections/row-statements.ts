import type { ColumnList } from './column-arrays.ts'
import { columnType, type ColumnType, type Expression, type Row, type Table } from './projector.ts'
import type { PlanStep } from './row-plan.ts'
import type { FoldedRow, WhereChange, WidePatch } from './rows-step.ts'

/** A statement on rows. Its parameters are one array per entry of `columns`. */
export interface Statement {
  /** The SQL text. `rows` supplies the rows as `x`: `rowsFrom(columns)`, or another source with the same columns. */
  readonly text: (rows: string) => string
  readonly columns: ColumnList
  readonly rows: readonly Row[]
  /** Number of rows that it must touch; undefined allows any number. */
  readonly expected: number | undefined
  /** The tables in which it searches rows. An insert of given rows searches none. */
  readonly reads: readonly string[]
  readonly effect: Effect
}

/** What a statement does to its table, as far as it matters whether another statement may run at the same time. */
export type Effect =
  | RowsEffect
  | { readonly kind: 'remove-where'; readonly table: Table; readonly changes: readonly WhereChange[] }
  /** Adds or replaces rows whose keys only the database knows. */
  | { readonly kind: 'insert-select'; readonly changes: readonly InsertSelect[] }
  | { readonly kind: 'other' }

/** Changes the rows of `rows`, found by their keys. `check` changes nothing. */
interface RowsEffect {
  readonly kind: 'rows'
  readonly op: 'check' | 'delete' | 'update' | 'insert' | 'upsert'
  readonly table: Table
}

type InsertSelect = Extract<WhereChange, { op: 'insert-select' }>

/** Quotes an identifier for Postgres. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** One statement per table and kind of write. */
export function statementsOf(schema: string, step: PlanStep): Statement[] {
  if (step.kind === 'where') return [whereStatement(schema, step)]
  const wide = [...Map.groupBy(step.wide.values(), ({ values }) => Object.keys(values).toSorted().join()).values()]
  return [...Map.groupBy(step.rows.values(), groupOf).values()]
    .map((rows) => rowsStatement(schema, step.table, rows))
    .concat(wide.map((patches) => wideStatement(schema, step.table, patches)))
    .sort((a, b) => rankOf(a) - rankOf(b))
    .concat(
      [...step.removals.values()].map((changes) =>
        whereStatement(schema, { table: step.table, source: step.table, changes }),
      ),
    )
}

/** Removals free unique values, so they come first. Wide patches come before all other changes of single rows. */
const ranks = { check: 0, delete: 1, wide: 2, update: 3, insert: 4, upsert: 4 }

function rankOf({ effect }: Statement): number {
  return ranks[effect.kind === 'rows' ? effect.op : 'wide']
}

function wideStatement(schema: string, table: Table, patches: readonly WidePatch[]): Statement {
  const [first] = patches
  if (first === undefined) throw new TypeError('an empty group of patches')
  const names = Object.keys(first.values)
  const rows = patches.map(({ values }) => values)
  const text = updating(`${quoted(schema)}.${quoted(table.name)}`, names, first.where)
  const columns = columnsOf(table, names)
  return { text, columns, rows, expected: undefined, reads: [table.name], effect: { kind: 'other' } }
}

/** Finds rows by these members of the key, and sets the other columns. Without others it sets what it found. */
function updating(target: string, names: readonly string[], key: readonly string[]): Statement['text'] {
  const others = names.filter((name) => !key.includes(name))
  const set = (others.length > 0 ? others : names).map((name) => `${quoted(name)} = x.${quoted(name)}`).join(', ')
  return (source) => `update ${target} t set ${set} from ${source} where ${matching(key)}`
}

function matching(key: readonly string[]): string {
  return key.map((name) => `t.${quoted(name)} = x.${quoted(name)}`).join(' and ')
}

/** Rows of one group are written by one statement. */
function groupOf({ before, after, values }: FoldedRow): string {
  const shape = after === 'partial' ? Object.keys(values).sort().join() : ''
  return `${before} ${after} ${shape}`
}

function rowsStatement(schema: string, table: Table, group: readonly FoldedRow[]): Statement {
  const [first] = group
  if (first === undefined) throw new TypeError('an empty group of rows')
  const target = `${quoted(schema)}.${quoted(table.name)}`
  const rows = group.map((row) => row.values)
  const names =
    first.after === 'whole'
      ? Object.keys(table.columns)
      : first.after === 'gone'
        ? table.primaryKey
        : Object.keys(first.values)
  const columns = columnsOf(table, names)
  const onKey = matching(table.primaryKey)
  const settable = names.filter((name) => !table.primaryKey.includes(name))
  const list = names.map(quoted).join(', ')
  const expected = first.before === 'present' ? rows.length : undefined

  const statement = (op: RowsEffect['op'], count: number | undefined, text: Statement['text']): Statement => {
    const reads = op === 'insert' || op === 'upsert' ? [] : [table.name]
    return { text, columns, rows, expected: count, reads, effect: { kind: 'rows', op, table } }
  }
  if (first.after === 'gone')
    return first.before === 'absent'
      ? statement('check', 0, (source) => `select from ${target} t, ${source} where ${onKey}`)
      : statement('delete', expected, (source) => `delete from ${target} t using ${source} where ${onKey}`)
  if (first.before === 'present') return statement('update', expected, updating(target, names, table.primaryKey))
  const insertion = (source: string) => `insert into ${target} (${list}) select ${list} from ${source}`
  if (first.before === 'absent') return statement('insert', rows.length, insertion)
  const replacement = settable.map((name) => `${quoted(name)} = excluded.${quoted(name)}`).join(', ')
  const onConflict = settable.length > 0 ? `do update set ${replacement}` : 'do nothing'
  const key = table.primaryKey.map(quoted).join(', ')
  return statement('upsert', undefined, (source) => `${insertion(source)} on conflict (${key}) ${onConflict}`)
}

/**
 * The columns of one row of values, collected while the statement's text is built. They are equal for all merged
 * changes.
 */
class Parameters {
  readonly columns: [string, ColumnType][] = []
  readonly values: unknown[] = []

  add(value: unknown, type: ColumnType): string {
    const name = `p${this.columns.length}`
    this.columns.push([name, type])
    this.values.push(typeof value === 'bigint' ? value.toString() : value)
    return `x.${quoted(name)}`
  }

  row(): Row {
    return Object.fromEntries(this.columns.map(([name], index) => [name, this.values[index]]))
  }
}

type WhereStep = Pick<Extract<PlanStep, { kind: 'where' }>, 'table' | 'source'> & {
  readonly changes: readonly WhereChange[]
}

function whereStatement(schema: string, step: WhereStep): Statement {
  const built = step.changes.map((change) => buildWhere(schema, step, change))
  const [first] = built
  if (first === undefined) throw new TypeError('an empty group of changes')
  // Each change needs a row, even without any value.
  const columns: ColumnList = first.parameters.columns.length > 0 ? first.parameters.columns : [['nothing', 'text']]
  return {
    text: first.text,
    columns,
    rows: built.map(({ parameters }) => parameters.row()),
    expected: undefined,
    reads: [step.table.name, step.source.name],
    effect: effectOf(step),
  }
}

function effectOf({ table, changes }: WhereStep): Effect {
  if (changes.every(({ op }) => op === 'remove-where')) return { kind: 'remove-where', table, changes }
  const adding = changes.filter((change) => change.op === 'insert-select')
  return adding.length === changes.length ? { kind: 'insert-select', changes: adding } : { kind: 'other' }
}

interface BuiltWhere {
  readonly parameters: Parameters
  readonly text: (source: string) => string
}

function buildWhere(schema: string, step: WhereStep, change: WhereChange): BuiltWhere {
  const parameters = new Parameters()
  const { table } = step
  const target = `${quoted(schema)}.${quoted(table.name)}`
  const conditions = Object.entries(change.where).map(([name, value]) =>
    condition(step.source, name, value, parameters),
  )
  const matches = conditions.length > 0 ? conditions.join(' and ') : 'true'
  if (change.op === 'remove-where')
    return { parameters, text: (source) => `delete from ${target} t using ${source} where ${matches}` }
  if (change.op === 'patch-where') {
    const assignments = Object.entries(change.set)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${quoted(name)} = ${parameters.add(value, columnType(table.columns[name]))}`)
    return {
      parameters,
      text: (source) => `update ${target} t set ${assignments.join(', ')} from ${source} where ${matches}`,
    }
  }
  const from = `${quoted(schema)}.${quoted(change.from)}`
  const columns = Object.entries(change.columns)
  const values = columns.map(([name, expression]) => {
    const type = columnType(table.columns[name])
    return `(${compile(expression, type, parameters)})::${type}`
  })
  const names = columns.map(([name]) => quoted(name)).join(', ')
  const replacement = columns
    .filter(([name]) => !table.primaryKey.includes(name))
    .map(([name]) => `${quoted(name)} = excluded.${quoted(name)}`)
  const key = table.primaryKey.map(quoted).join(', ')
  const onConflict =
    change.existing === 'replace' ? ` on conflict (${key}) do update set ${replacement.join(', ')}` : ''
  const text = (source: string) =>
    `insert into ${target} (${names}) select ${values.join(', ')} from ${from} t, ${source} where ${matches}${onConflict}`
  return { parameters, text }
}

function condition(table: Table, name: string, value: unknown, parameters: Parameters): string {
  const column = `t.${quoted(name)}`
  if (value === null) return `${column} is null`
  if (value === undefined) throw new TypeError(`a condition on ${table.name} compares ${name} with nothing`)
  if (typeof value === 'object' && 'contains' in value) return `${column} @> ${parameters.add(value.contains, 'jsonb')}`
  return `${column} = ${parameters.add(value, columnType(table.columns[name]))}`
}

function compile(expression: Expression, type: ColumnType, parameters: Parameters): string {
  if ('column' in expression) return `t.${quoted(expression.column)}`
  if ('concat' in expression)
    return `concat(${expression.concat.map((part) => compile(part, 'text', parameters)).join(', ')})`
  if ('uuid' in expression) {
    const { namespace, name } = expression.uuid
    const hashed = `uuid_send(${compile(namespace, 'uuid', parameters)}) || convert_to(${compile(name, 'text', parameters)}, 'UTF8')`
    const versioned = 'set_byte(set_byte(h, 6, (get_byte(h, 6) & 15) | 128), 8, (get_byte(h, 8) & 63) | 128)'
    return `(select encode(${versioned}, 'hex')::uuid from (select substring(sha256(${hashed}) from 1 for 16) as h) hashed)`
  }
  if ('json' in expression) {
    const members = Object.entries(expression.json).map(
      ([name, part]) => `'${name.replaceAll("'", "''")}', ${compile(part, 'jsonb', parameters)}`,
    )
    return `jsonb_build_object(${members.join(', ')})`
  }
  return parameters.add(expression.value, type)
}

function columnsOf(table: Table, names: readonly string[]): ColumnList {
  return names.map((name) => [name, columnType(table.columns[name])] as const)
}

/** Rows given as one array per column, from parameter `first` on. */
export function rowsFrom(columns: ColumnList, first = 1, as = 'x'): string {
  const arrays = columns.map(([, type], index) => `$${first + index}::${type}[]`)
  return `unnest(${arrays.join(', ')}) as ${as}(${columns.map(([name]) => quoted(name)).join(', ')})`
}
