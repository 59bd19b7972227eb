import { execute } from '../../engine/commands/execute.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { DataOf } from '../../engine/store/events.ts'
import type { Position, StreamRevision } from '../../platform/kit/positions.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import { operationsStream } from '../../streams/operations/aggregate.ts'
import type { OperationsEvent } from '../../streams/operations/events.ts'

/** Records what an operator does. Comes before the effect, so nothing is done that nobody can read about. */
export async function recordAction(
  store: EventStore,
  data: DataOf<OperationsEvent, 'OperatorActionRecorded'>,
  context: CommandContext,
): Promise<{ readonly revision: StreamRevision; readonly position: Position }> {
  const { revision, position } = await execute(
    store,
    operationsStream,
    () => [{ type: 'OperatorActionRecorded', data } as const],
    context,
  )
  if (position === undefined) throw new Error('a recorded action has no position')
  return { revision, position }
}
