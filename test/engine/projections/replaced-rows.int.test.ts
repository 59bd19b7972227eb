import { describe, expect, it } from 'vitest'
import { defineProjector, insertSelect } from '../../../engine/projections/projector.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'
import { news, ticketBoard, tickets, watchers, type TicketEvent } from './tickets.ts'

function projectorOf(existing: { readonly existing?: 'replace' }) {
  return defineProjector<TicketEvent>()({
    ...ticketBoard,
    name: 'replaced_rows',
    tables: [tickets, watchers, news],
    handlers: {
      ...ticketBoard.handlers,
      TicketOpened: ({ data }) => [
        insertSelect(news, {
          from: watchers,
          where: { team: data.team },
          columns: {
            key: { column: 'watcher' },
            watcher: { column: 'watcher' },
            detail: { json: { ticket: { value: data.ticketId } } },
          },
          ...existing,
        }),
      ],
    },
  })
}

const watched = (watcher: string) => ({ type: 'TeamWatched', data: { team: 'red', watcher } })
const opened = (ticketId: string) => ({ type: 'TicketOpened', data: { ticketId, title: 'x', team: 'red' } })
const history = recorded([watched('ann'), opened('t1'), opened('t2'), watched('bob'), opened('t3')])

describe('existing rows with the key of an insert-select', () => {
  it('are replaced if the handler allows it, the latest last, in one batch and one by one', async () => {
    const { news: rows } = await rowsAfter(projectorOf({ existing: 'replace' }), history)
    expect(rows).toEqual([
      { key: 'ann', watcher: 'ann', detail: { ticket: 't3' } },
      { key: 'bob', watcher: 'bob', detail: { ticket: 't3' } },
    ])
  })

  it('stop the projector otherwise', async () => {
    await expect(rowsAfter(projectorOf({}), history)).rejects.toThrow('duplicate key')
  })
})
