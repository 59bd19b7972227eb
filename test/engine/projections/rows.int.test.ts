import { describe, expect, it } from 'vitest'
import { recorded, rowsAfter } from '../../support/given-projector.ts'
import { closed, opened, renamed, ticketBoard } from './tickets.ts'

const watch = (team: string, watcher: string) => ({ type: 'TeamWatched', data: { team, watcher } })
const unwatch = (team: string, watcher: string) => ({ type: 'TeamUnwatched', data: { team, watcher } })

describe('rows of a projector', () => {
  it('inserts, patches, removes and replaces rows equally in one batch and one by one', async () => {
    const { tickets } = await rowsAfter(
      ticketBoard,
      recorded([
        opened('t1'),
        opened('t2'),
        opened('t3'),
        renamed('t1', 'a'),
        closed('t2'),
        renamed('t1', 'b'),
        renamed('t3', 'c'),
        closed('t3'),
        opened('t3', 'again'),
      ]),
    )
    expect(tickets).toEqual([
      {
        ticket_id: 't1',
        title: 'b',
        team: 'red',
        opened_at: '2026-01-01T00:00:00.000Z',
        stream_revision: '5',
        note: null,
      },
      {
        ticket_id: 't3',
        title: 'again',
        team: 'red',
        opened_at: '2026-01-01T00:00:08.000Z',
        stream_revision: '8',
        note: null,
      },
    ])
  })

  it('fills rows from lookup rows in their state at the event', async () => {
    const events = recorded([
      opened('t0'),
      watch('red', 'ann'),
      watch('red', 'bob'),
      watch('blue', 'cid'),
      opened('t1'),
      unwatch('red', 'ann'),
      opened('t2'),
      opened('t3', 'x', 'blue'),
    ])
    const { news, watchers } = await rowsAfter(ticketBoard, events)
    const details = news?.map((row) => row['detail'])
    const detail = (watcher: string, ticket: string, team: string) => ({
      ticket,
      "watcher's": watcher,
      tags: ['all', team],
    })
    expect(details).toHaveLength(4)
    expect(details).toEqual(
      expect.arrayContaining([
        detail('ann', 't1', 'red'),
        detail('bob', 't1', 'red'),
        detail('bob', 't2', 'red'),
        detail('cid', 't3', 'blue'),
      ]),
    )
    expect(news?.map((row) => row['key'])).toContain(`ann:${events[4]?.id}`)
    expect(watchers).toEqual([
      { team: 'blue', watcher: 'cid', tags: ['all', 'blue'] },
      { team: 'red', watcher: 'bob', tags: ['all', 'red'] },
    ])
  })

  it('patches every row that matches, in order', async () => {
    const { tickets } = await rowsAfter(
      ticketBoard,
      recorded([
        opened('t1'),
        opened('t2', 'x', 'blue'),
        { type: 'TeamRenamed', data: { team: 'red', to: 'blue' } },
        { type: 'TeamRenamed', data: { team: 'blue', to: 'green' } },
        opened('t3'),
      ]),
    )
    expect(tickets?.map((row) => [row['ticket_id'], row['team'], row['note']])).toEqual([
      ['t1', 'green', 'blue'],
      ['t2', 'green', 'blue'],
      ['t3', 'red', null],
    ])
  })

  it('keeps any text of JSON, except characters that Postgres cannot store', async () => {
    const odd = `'"\\ \u0001 \\u0000 😀 {"a":1}`
    const { tickets } = await rowsAfter(
      ticketBoard,
      recorded([opened('t1', odd), opened('t2', 'nul \u0000 lone \ud83d end')]),
    )
    expect(tickets?.map((row) => row['title'])).toEqual([odd, 'nul \uFFFD lone \uFFFD end'])
  })

  it('refuses a patch of a missing row, and an insert of an existing one', async () => {
    await expect(rowsAfter(ticketBoard, recorded([renamed('t1', 'a')]))).rejects.toThrow(
      'patch of a missing row of tickets',
    )
    await expect(rowsAfter(ticketBoard, recorded([opened('t1'), opened('t1')]))).rejects.toThrow(
      'insert of an existing row of tickets',
    )
  })
})
