import { v5 } from 'uuid'

/** Id of the nth event (from 0) of a command: repeating the command repeats the ids. */
export function eventIdOf(commandId: string, index: number): string {
  return v5(String(index), commandId)
}
