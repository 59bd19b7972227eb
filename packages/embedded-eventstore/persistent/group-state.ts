/** The public state of a group. Positions are undefined before the first event. */
export type GroupState = {
  status: string
  counts: { read: number; retry: number; live: number }
  /** Messages that are with consumers. */
  outstanding: number
  /** Deliveries since the group was started. */
  delivered: number
  checkpoint: number | undefined
  /** The last event that reached the group. */
  known: number | undefined
  /** Revision of the parked stream up to which everything was replayed, exclusive. */
  replayedUntil: number
}

/** The state in the words and the order of the server. */
export function statusOf(isLive: boolean, isReading: boolean, isReplaying: boolean): string {
  const flags = [
    isLive ? '' : 'Behind',
    isReading ? 'OutstandingPageRequest' : '',
    isReplaying ? 'ReplayingParkedMessages' : '',
    isLive ? 'Live' : '',
  ]
  return flags.filter((flag) => flag !== '').join(', ')
}
