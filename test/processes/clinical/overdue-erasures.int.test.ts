import { expect, it } from 'vitest'
import { createPool } from '../../../platform/database/database.ts'
import { overdueErasures } from '../../../processes/clinical/overdue-erasures.ts'
import { freshDatabase } from '../../support/postgres.ts'

it('the health report names steps of erasures that are due for an hour, the rewriting of the vault later', async () => {
  const database = await freshDatabase()
  const pool = createPool({ url: database.url, max: 1 })
  try {
    await pool.query('create schema erasures_todo')
    await pool.query('create table erasures_todo.todo (step text, due_at timestamptz)')
    const insert = `insert into erasures_todo.todo values ($1, now() - $2::interval)`
    await pool.query(insert, ['delete-objects', '59 minutes'])
    await pool.query(insert, ['rewrite-vault', '119 minutes'])
    expect(await overdueErasures(pool, 1)).toBe(null)
    await pool.query(insert, ['delete-objects', '61 minutes'])
    await pool.query(insert, ['rewrite-vault', '121 minutes'])
    expect(await overdueErasures(pool, 1)).toBe('overdue: delete-objects (1), rewrite-vault (1)')
  } finally {
    await pool.end()
    await database.drop()
  }
})
