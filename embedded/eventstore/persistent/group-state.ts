/** What can be told of a group from outside. Positions are undefined before the first. */
export type GroupState = {
  status: string
  counts: { read: number; retry: number; live: number }
  /** Messages that are out with consumers. */
  outstanding: number
  /** Deliveries since the group was started. */
  delivered: number
  checkpoint: number | undefined
  /** The last event that it heard of. */
  known: number | undefined
  /** Revision of the parked stream before which everything was replayed. */
  replayedUntil: number
}

/** The state in the server's words, in its order. */
export function statusOf(isLive: boolean, isReading: boolean, isReplaying: boolean): string {
  const flags = [
    isLive ? '' : 'Behind',
    isReading ? 'OutstandingPageRequest' : '',
    isReplaying ? 'ReplayingParkedMessages' : '',
    isLive ? 'Live' : '',
  ]
  return flags.filter((flag) => flag !== '').join(', ')
}
