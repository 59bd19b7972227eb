import type { Mutant } from './mutant.ts'

const takeover = 'test/projections/runtime/takeover.int.test.ts'
const rowPlan = 'test/projections/runtime/row-plan.unit.test.ts'
const feed = 'test/projections/runtime/feed.unit.test.ts'
const joinedWrites = 'test/projections/runtime/joined-writes.int.test.ts'
const readPositions = 'test/projections/runtime/read-positions.int.test.ts'

export const projectionMutants: readonly Mutant[] = [
  {
    name: 'plans-of-empty-tables',
    fault: 'a batch that was planned on empty tables reads them completely after they have grown',
    file: 'projections/runtime/batch-writer.ts',
    text: ", enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off'",
    replacement: '',
    caughtBy: [
      {
        file: 'test/projections/runtime/write-plans.int.test.ts',
        test: 'plans for empty tables scan no table once it has grown',
      },
    ],
  },
  {
    name: 'projectors-in-any-order',
    fault: 'two batches that change several projectors lock them in the order of their plans',
    file: 'projections/runtime/checkpoints.ts',
    text: ' order by name for no key update',
    replacement: '',
    caughtBy: [{ file: 'test/projections/runtime/lock-order.int.test.ts', test: 'holds no lock of a later name: ' }],
  },
  {
    name: 'checkpoint-unguarded',
    fault: 'a checkpoint moves from any position',
    file: 'projections/runtime/checkpoint-moves.ts',
    text: ' and p.commit_position = x.from_commit and p.prepare_position = x.from_prepare',
    replacement: '',
    caughtBy: [{ file: takeover, test: 'moves only from where its writer left it' }],
  },
  {
    name: 'checkpoint-half',
    fault: 'only half of a position guards a checkpoint',
    file: 'projections/runtime/checkpoint-moves.ts',
    text: ' and p.prepare_position = x.from_prepare',
    replacement: '',
    caughtBy: [
      { file: 'test/projections/runtime/checkpoint-guard.int.test.ts', test: 'compares both numbers of a position' },
    ],
  },
  {
    name: 'checkpoint-version',
    fault: 'an older version of the program moves the checkpoint of a newer one',
    file: 'projections/runtime/checkpoint-moves.ts',
    text: 'p.version = x.version and ',
    replacement: '',
    caughtBy: [{ file: takeover, test: 'moves only from where its writer left it' }],
  },
  {
    name: 'joined-into-old-copy',
    fault: 'a batch that waited for a switch writes to the tables from before it',
    file: 'projections/runtime/checkpoint-moves.ts',
    text: "${ofCopies ? ' and p.copy_id = x.copy_id' : ''}",
    replacement: '',
    caughtBy: [{ file: joinedWrites, test: 'goes to that copy, and so does the next one, as one statement again' }],
  },
  {
    name: 'copy-comes-back',
    fault: 'a rollback brings a copy back under the id that a writer used before the switch',
    file: 'projections/rebuild/switch.ts',
    text: `(name, version, shape, commit_position, prepare_position, status, updated_at)
     select $2, version, shape, commit_position,`,
    replacement: `(name, version, shape, copy_id, commit_position, prepare_position, status, updated_at)
     select $2, version, shape, copy_id, commit_position,`,
    caughtBy: [{ file: 'test/projections/rebuild/rollback.int.test.ts', test: 'reverses the rollback before it' }],
  },
  {
    name: 'switch-waits-locked',
    fault: 'a switch waits under its lock for a read that ignores its signal, and every read model stops',
    file: 'projections/rebuild/gap.ts',
    text: 'limited(limitMs, batches.next())',
    replacement: 'batches.next()',
    caughtBy: [
      {
        file: 'test/projections/rebuild/switch.int.test.ts',
        test: 'releases its lock if the event store does not answer under it, and succeeds at a later attempt',
      },
    ],
  },
  {
    name: 'joined-past-lost',
    fault: 'a joined batch succeeds for projectors with the expected checkpoint, and is reported for all',
    file: 'projections/runtime/joined-writes.ts',
    text: `const conditions = ['exists (select from passed)']`,
    replacement: `const conditions = ['true']`,
    caughtBy: [
      { file: joinedWrites, test: 'a checkpoint that another instance has moved, next to one that it has not' },
    ],
  },
  {
    name: 'joined-reads-old-rows',
    fault: 'a change that reads a table is joined with one that writes it, and reads the rows from before',
    file: 'projections/runtime/joined-writes.ts',
    text: 'read !== table && tables.includes(read)',
    replacement: 'read !== table && read === table',
    caughtBy: [
      { file: joinedWrites, test: 'is written with several statements if it ' },
      { file: joinedWrites, test: 'give the same rows, the same reported tables and the same refusals' },
    ],
  },
  {
    name: 'joined-uncounted',
    fault: 'a joined patch of a missing row is accepted',
    file: 'projections/runtime/joined-writes.ts',
    text: 'if (expected !== undefined) conditions.push(',
    replacement: 'if (expected === 0) conditions.push(',
    caughtBy: [{ file: joinedWrites, test: 'give the same rows, the same reported tables and the same refusals' }],
  },
  {
    name: 'lost-commit-foreign',
    fault: 'a lost answer of a commit is taken as a commit of another instance',
    file: 'projections/runtime/retrying-writer.ts',
    text: 'isOutcomeUnknown = true',
    replacement: 'isOutcomeUnknown = false',
    caughtBy: [
      {
        file: 'test/projections/runtime/retrying-writer.int.test.ts',
        test: 'recognises its own commit if the answer was lost',
      },
    ],
  },
  {
    name: 'position-half',
    fault: 'two events of one append have the same position',
    file: 'platform/kit/positions.ts',
    text: '  if (a.prepare !== b.prepare) return a.prepare < b.prepare ? -1 : 1\n',
    replacement: '',
    caughtBy: [{ file: 'test/platform/kit/positions.unit.test.ts', test: 'are compared by both numbers' }],
  },
  {
    name: 'older-patch-wins',
    fault: 'of two patches of a row in one batch, the first one stays',
    file: 'projections/runtime/row-plan.ts',
    text: 'values: { ...found.values, ...values } }',
    replacement: 'values: { ...values, ...found.values } }',
    caughtBy: [
      {
        file: 'test/projections/runtime/later-changes.unit.test.ts',
        test: 'the last change of a column in a batch wins',
      },
    ],
  },
  {
    name: 'insert-ahead-of-removal',
    fault: 'a new row is written before the same event has removed the existing one',
    file: 'projections/runtime/row-plan.ts',
    text: `change.op === 'upsert' || !this.#thinned.has(table.name)`,
    replacement: 'true',
    caughtBy: [
      {
        file: 'test/projections/runtime/folded-removals.int.test.ts',
        test: 'a row that the same event removed by its values',
      },
    ],
  },
  {
    name: 'conditions-out-of-order',
    fault: 'changes that read rows are joined across changes of the rows that they read',
    file: 'projections/runtime/row-plan.ts',
    text: 'concerned.every((name) => this.#lastStep.get(name) === last)',
    replacement: 'concerned.length > 0',
    caughtBy: [{ file: rowPlan, test: 'puts a change that reads a table between the changes of that table' }],
  },
  {
    name: 'joined-ahead',
    fault: 'two readings merge into the one ahead, so the others miss the events between',
    file: 'projections/runtime/log-readings.ts',
    text: '<= 0 ? [live, joining] : [joining, live]',
    replacement: '<= 0 ? [joining, live] : [live, joining]',
    caughtBy: [{ file: feed, test: 'merge into the one behind' }],
  },
  {
    name: 'event-twice',
    fault: 'a projector that is ahead of its reading takes events again',
    file: 'projections/runtime/feed.ts',
    text: 'comparePositions(first.position, from) <= 0',
    replacement: 'comparePositions(first.position, from) > 0',
    caughtBy: [{ file: feed, test: 'starts at the member that is furthest behind' }],
  },
  {
    name: 'unknown-type-passed',
    fault: 'a read model counts as current although it stands before an event that only a newer program can read',
    file: 'streams/store/event-store.ts',
    text: ' || this.#catalogue.entry(type) === undefined',
    replacement: '',
    caughtBy: [
      { file: readPositions, test: 'is not passed before an event of an unknown type' },
      { file: 'test/streams/store/event-store.int.test.ts', test: 'the head of wanted types' },
    ],
  },
  {
    name: 'stale-consent',
    fault: 'a decision uses a read model that may not have the newest event',
    file: 'projections/runtime/read-positions.ts',
    text: 'comparePositions(reached, newest) < 0',
    replacement: 'comparePositions(reached, newest) < -1',
    caughtBy: [{ file: readPositions, test: 'is never passed by a projector that is stopped before it' }],
  },
]
