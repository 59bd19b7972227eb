const GROUPS_ON_ALL = '$persistentsubscription-$all::'

/** Streams that `$all` leaves out: what groups on `$all` note for themselves would otherwise come back to them without end. */
export function isHiddenFromAll(stream: string): boolean {
  return stream.startsWith(GROUPS_ON_ALL) && (stream.endsWith('-checkpoint') || stream.endsWith('-parked'))
}
