/** A part of a query. A part that another one contains is written in its place. */
export abstract class SqlPart {
  /** Returns its SQL. Adds its values to those of the statement. */
  abstract write(values: unknown[]): string
}

interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** `??` stands for a name of a column or table, `?` for a value, and `\?` for a question mark. */
export function sqlOf(text: string, bindings: readonly unknown[]): SqlPart {
  return new SqlText(text, bindings)
}

class SqlText extends SqlPart {
  readonly #text: string
  readonly #bindings: readonly unknown[]

  constructor(text: string, bindings: readonly unknown[]) {
    super()
    this.#text = text
    this.#bindings = bindings
  }

  write(values: unknown[]): string {
    const given = this.#bindings.values()
    const written = this.#text.replaceAll(/\\\?|\?\??/g, (mark) => {
      if (mark === '\\?') return '?'
      const { value, done } = given.next()
      if (done === true) throw new TypeError(`${this.#text} has more placeholders than bindings`)
      if (value instanceof SqlPart) return value.write(values)
      return mark === '??' ? quoted(String(value)) : placeholder(value, values)
    })
    if (given.next().done !== true) throw new TypeError(`${this.#text} has more bindings than placeholders`)
    return written
  }
}

function placeholder(value: unknown, values: unknown[]): string {
  if (value === undefined) throw new TypeError('a query has an undefined value')
  return `$${values.push(value)}`
}

/** `a.b as c` as `"a"."b" as "c"`. */
function quoted(name: string): string {
  const each = (part: string) => (part === '*' ? part : `"${part.replaceAll('"', '""')}"`)
  return name
    .split(' as ')
    .map((side) => side.split('.').map(each).join('.'))
    .join(' as ')
}

/** A query of rows. Every method changes and returns the same query. */
export class SelectQuery extends SqlPart {
  readonly #from: SqlPart
  readonly #selected: SqlPart[] = []
  readonly #distinct: SqlPart[] = []
  readonly #joins: SqlPart[] = []
  readonly #conditions: SqlPart[] = []
  readonly #groups: SqlPart[] = []
  readonly #orders: SqlPart[] = []
  #limit: SqlPart | undefined

  /** @param source a table, or a part with its alias */
  constructor(source: string | SqlPart) {
    super()
    this.#from = sqlOf('??', [source])
  }

  /** Names of columns, or columns and parts by their names in the rows. Without any, the rows have all columns. */
  select(...columns: readonly (string | Readonly<Record<string, string | SqlPart>>)[]): this {
    for (const column of columns) {
      if (typeof column === 'string') this.#selected.push(sqlOf('??', [column]))
      else for (const [name, each] of Object.entries(column)) this.#selected.push(sqlOf('?? as ??', [each, name]))
    }
    return this
  }

  where(column: string, value: unknown): this {
    return this.whereRaw('?? = ?', [column, value])
  }

  whereRaw(sql: string, bindings: readonly unknown[]): this {
    this.#conditions.push(sqlOf(sql, bindings))
    return this
  }

  join(table: string, on: Readonly<Record<string, string>>): this {
    return this.#joinOn('join', table, on)
  }

  leftJoin(table: string, on: Readonly<Record<string, string>>): this {
    return this.#joinOn('left join', table, on)
  }

  #joinOn(kind: string, table: string, on: Readonly<Record<string, string>>): this {
    const pairs = Object.entries(on)
    return this.joinRaw(`${kind} ?? on ${pairs.map(() => '?? = ??').join(' and ')}`, [table, ...pairs.flat()])
  }

  joinRaw(sql: string, bindings: readonly unknown[]): this {
    this.#joins.push(sqlOf(sql, bindings))
    return this
  }

  distinctOn(column: string): this {
    this.#distinct.push(sqlOf('??', [column]))
    return this
  }

  groupBy(column: string): this {
    this.#groups.push(sqlOf('??', [column]))
    return this
  }

  orderByRaw(sql: string, bindings: readonly unknown[]): this {
    this.#orders.push(sqlOf(sql, bindings))
    return this
  }

  limit(count: number): this {
    this.#limit = sqlOf('?', [count])
    return this
  }

  write(values: unknown[]): string {
    const clause = (start: string, parts: readonly SqlPart[], between = ', ', end = '') =>
      parts.length === 0 ? '' : `${start}${parts.map((part) => part.write(values)).join(between)}${end}`
    return [
      'select ',
      clause('distinct on (', this.#distinct, ', ', ') '),
      clause('', this.#selected) || '*',
      clause(' from ', [this.#from]),
      clause(' ', this.#joins, ' '),
      clause(' where ', this.#conditions, ' and '),
      clause(' group by ', this.#groups),
      clause(' order by ', this.#orders),
      clause(' limit ', this.#limit === undefined ? [] : [this.#limit]),
    ].join('')
  }

  /** The text for Postgres, with `$1` for the first value. */
  statement(): Statement {
    const values: unknown[] = []
    return { text: this.write(values), values }
  }
}
